/** Opens the database of the settings, whose flywheels are all on one cluster. */
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { PostgresStoreOptions } from '../store/postgres/open.js';
import type { Store } from '../store/store.js';
import type { DatabaseAddress } from '../values/database-address.js';
import { whileOpen } from './opened.js';

/** Connections that neither read nor write projects: one gives out numbers, one counts requests. */
const OTHERS = 2;

/** How the connections that a process takes at most are shared out. */
export function connectionsOf(pool: number): { readonly readers: number; readonly writers: number } {
  const readers = Math.floor((pool - OTHERS) / 2);
  return { readers, writers: pool - OTHERS - readers };
}

/**
 * The store in a database, whatever it holds.
 * @throws `ERR_CONFIG_INVALID` for an address that is none, `ERR_LOCAL_NOT_FOUND` where nothing was made there yet,
 *   `ERR_STORE_UNAVAILABLE`
 */
export async function openDatabase(
  address: DatabaseAddress,
  terms: Pick<PostgresStoreOptions, 'schema' | 'readers' | 'writers' | 'isPatient'>,
): Promise<Store> {
  const url = address.reveal();
  const { openPostgresStore } = await import('../store/postgres/open.js');
  return openPostgresStore({ url, ...terms });
}

/** The cluster that the flywheels of a database are on. @throws `ERR_LOCAL_NOT_FOUND` */
export async function requireGenesis(store: Store, address: DatabaseAddress): Promise<string> {
  const { genesis } = await store.progress();
  if (genesis !== null) return genesis;
  throw new FlywheelError(
    'ERR_LOCAL_NOT_FOUND',
    `No project in the database ${address.shown} (${address.name}).`,
    { hint: 'Create one with `flywheel register`, or unset the database address.' },
  );
}

/** What a look into a database finds; `null` where nothing was made there yet. */
export async function lookIntoDatabase<Found>(
  address: DatabaseAddress,
  look: (store: Store) => Promise<Found | null>,
): Promise<Found | null> {
  return whileOpen(async (opened) => {
    const store = await openDatabase(address, { schema: 'require', readers: 1 }).catch((error: unknown) => {
      if (isFlywheelError(error, 'ERR_LOCAL_NOT_FOUND')) return null;
      throw error;
    });
    return store === null ? null : look(opened.keep(store));
  });
}
