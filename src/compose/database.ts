/** Opens the database of the settings: whether it holds flywheels, of which cluster, and which of them is meant. */
import { clusterName } from '../chain/node-address.js';
import type { DatabaseAddress } from '../cli/config/database-address.js';
import type { DataChain } from '../contract/admin.js';
import type { RateCounts } from '../contract/rate-counts.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { PostgresStoreOptions } from '../store/postgres/open.js';
import type { Store } from '../store/store.js';

/** What is chosen where a database is opened. */
export type DatabaseTerms = Pick<PostgresStoreOptions, 'schema' | 'readers' | 'writers'>;

/** Connections that neither read nor write projects: one gives out numbers, one counts requests. */
const OTHERS = 2;

/** How the connections that a process takes at most are shared out. */
export function connectionsOf(pool: number): Required<Pick<DatabaseTerms, 'readers' | 'writers'>> {
  const readers = Math.floor((pool - OTHERS) / 2);
  return { readers, writers: pool - OTHERS - readers };
}

/**
 * The store in a database, whatever it holds.
 * @throws `ERR_CONFIG_INVALID` for an address that is none, `ERR_LOCAL_NOT_FOUND` where nothing was made there yet,
 *   `ERR_STORE_UNAVAILABLE`
 */
export async function openDatabase(address: DatabaseAddress, terms: DatabaseTerms): Promise<Store> {
  const url = address.reveal();
  const { openPostgresStore } = await import('../store/postgres/open.js');
  return openPostgresStore({ url, ...terms });
}

/** Where all servers on the database count the requests for their limits. */
export async function openDatabaseRateCounts(
  address: DatabaseAddress,
): Promise<RateCounts & { close(): Promise<void> }> {
  const { openPostgresRateCounts } = await import('../store/postgres/rate-counts.js');
  return openPostgresRateCounts({ url: address.reveal() });
}

/** Nothing is registered in it yet. */
export const nothingIn = (address: DatabaseAddress): FlywheelError =>
  new FlywheelError(
    'ERR_LOCAL_NOT_FOUND',
    `There is no flywheel in the database ${address.shown} (${address.name}).`,
    {
      hint: 'Register one: `flywheel register`. Or unset what names the database.',
    },
  );

/** The cluster that the flywheels of a database are on. @throws `ERR_LOCAL_NOT_FOUND` */
export async function requireGenesis(store: Store, address: DatabaseAddress): Promise<string> {
  const { genesis } = await store.progress();
  if (genesis !== null) return genesis;
  throw nothingIn(address);
}

/** What a look into a database finds; `null` where nothing was made there yet. */
export async function lookInto<Found>(
  address: DatabaseAddress,
  look: (store: Store) => Promise<Found>,
): Promise<Found | null> {
  let store: Store;
  try {
    store = await openDatabase(address, { schema: 'require', readers: 1 });
  } catch (error) {
    if (isFlywheelError(error, 'ERR_LOCAL_NOT_FOUND')) return null;
    throw error;
  }
  try {
    return await look(store);
  } finally {
    await store.close();
  }
}

/** The chain of its flywheels; `null` before there is one. */
export const chainOfDatabase = (address: DatabaseAddress): Promise<DataChain | null> =>
  lookInto(address, async (store) => {
    const { genesis } = await store.progress();
    return genesis === null
      ? null
      : { kind: 'cluster' as const, name: clusterName(genesis), genesisHash: genesis };
  });
