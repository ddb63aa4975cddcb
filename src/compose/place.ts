/** Decides where the settings' project is stored: in the data directory or in a database, never in both. */
import { clusterName } from '../chain/node-address.js';
import { FlywheelError, isFlywheelError, usageError } from '../errors/flywheel-error.js';
import type { PostgresStoreOptions } from '../store/postgres/open.js';
import type { Store, StoreTransaction } from '../store/store.js';
import type { DatabaseAddress } from '../values/database-address.js';
import {
  type ClusterConfig,
  dataFiles,
  isOnCluster,
  type LocalConfig,
  readDataConfig,
  withoutProject,
} from './local-config.js';
import { whileOpen } from './opened.js';
import type { Settings } from './settings.js';

type DataPlace =
  | { readonly kind: 'ledger'; readonly config: LocalConfig }
  | { readonly kind: 'cluster'; readonly config: ClusterConfig }
  | { readonly kind: 'database'; readonly address: DatabaseAddress };

/**
 * `null` without a project. A database beside a data directory with a project is ambiguous.
 * @throws `ERR_CONFIG_INVALID` if ambiguous, `ERR_USAGE` for a project named in a directory, `ERR_STORE_UNAVAILABLE` for a damaged `local.json`
 */
export function placeOf({ database, dataDir, project }: Settings): DataPlace | null {
  const found = database.value;
  const config = readDataConfig(dataDir.value);
  if (config === undefined) return found && { kind: 'database', address: found };
  if (found !== null)
    throw new FlywheelError(
      'ERR_CONFIG_INVALID',
      `${found.name} sets a database, but ${dataDir.value} has a project too. flywheel cannot tell which one you mean.`,
      {
        hint: `Unset ${found.name}, or name another directory with --data-dir. \`flywheel db copy\` copies the directory into the database.`,
      },
    );
  if (project.source === 'flag')
    throw usageError('--project names a project of a database. A data directory has one project.');
  return isOnCluster(config) ? { kind: 'cluster', config } : { kind: 'ledger', config };
}

/** @throws `ERR_LOCAL_NOT_FOUND` until `local init` or `register` is done; as {@link placeOf} */
export const requirePlace = (settings: Settings): DataPlace =>
  placeOf(settings) ?? withoutProject(settings.dataDir.value);

/** The database to use, or `null`. @throws as {@link placeOf} */
export function databaseOf(settings: Settings): DatabaseAddress | null {
  const place = placeOf(settings);
  return place?.kind === 'database' ? place.address : null;
}

export type DataChain = ReturnType<typeof onCluster>;

export const onCluster = (genesisHash: string) => ({
  ...{ kind: 'cluster' as 'ledger' | 'cluster', name: clusterName(genesisHash), genesisHash },
});

/** The chain of the settings' projects, without a call to it; `null` without a project. */
export async function chainOfPlace(settings: Settings): Promise<DataChain | null> {
  const place = placeOf(settings);
  if (place?.kind === 'ledger') return { kind: 'ledger', name: null, genesisHash: place.config.genesis };
  if (place?.kind === 'cluster') return onCluster(place.config.cluster.genesisHash);
  const progress = await lookIntoStore(settings, (tx) => tx.lineages.progress());
  return progress?.genesis == null ? null : onCluster(progress.genesis);
}

/**
 * @throws `ERR_CONFIG_INVALID` for an invalid address, `ERR_LOCAL_NOT_FOUND` if the required schema is missing,
 *  `ERR_STORE_UNAVAILABLE`
 */
export async function openDatabase(
  address: DatabaseAddress,
  terms: Omit<PostgresStoreOptions, 'url'> = {},
): Promise<Store> {
  const { openPostgresStore } = await import('../store/postgres/open.js');
  return openPostgresStore({ url: address.reveal(), ...terms });
}

/** Reads the settings' store without writing; `null` if there is none yet. @param isPatient - no statement timeout */
export const lookIntoStore = <Found>(
  settings: Settings,
  look: (tx: StoreTransaction) => Promise<Found>,
  isPatient = false,
): Promise<Found | null> =>
  whileOpen(async (opened) => {
    const store = await openToLook(settings, isPatient);
    return store && opened.keep(store).read(look);
  });

async function openToLook(settings: Settings, isPatient: boolean): Promise<Store | null> {
  const place = placeOf(settings);
  if (place === null) return null;
  if (place.kind !== 'database') {
    const { openSqliteStore } = await import('../store/sqlite/open.js');
    return openSqliteStore({ path: dataFiles(settings.dataDir.value).store, create: false });
  }
  return openDatabase(place.address, { schema: 'require', isPatient }).catch((error: unknown) => {
    if (isFlywheelError(error, 'ERR_LOCAL_NOT_FOUND')) return null;
    throw error;
  });
}
