/** Where the flywheel of the settings is kept: in the data directory that they name, or in a database; never in both. */
import { clusterName } from '../chain/node-address.js';
import type { DataChain } from '../contract/admin.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { DatabaseAddress } from '../values/database-address.js';
import { lookIntoDatabase } from './database.js';
import {
  type ClusterConfig,
  chainOfData,
  isOnCluster,
  type LocalConfig,
  readDataConfig,
  requireDataConfig,
} from './local-config.js';
import type { Settings } from './settings.js';

/** A flywheel of its own in the data directory, or those of a database. */
export type DataPlace =
  | { readonly kind: 'directory'; readonly config: LocalConfig | ClusterConfig }
  | { readonly kind: 'database'; readonly address: DatabaseAddress };

export type PlaceSettings = Pick<Settings, 'database' | 'dataDir'>;

/**
 * The database that is to be used, or `null`. The variable that other programs have as well is nothing to a flywheel on a ledger
 * of its own; whatever else names a database beside a directory with a flywheel leaves open which of the two is meant.
 * @throws `ERR_CONFIG_INVALID` where it is open.
 */
export function databaseOf({ database, dataDir }: PlaceSettings): DatabaseAddress | null {
  const found = database.value;
  const config = found === null ? undefined : readDataConfig(dataDir.value);
  if (found === null || config === undefined) return found;
  if (!isOnCluster(config) && !found.isOwn) return null;
  throw new FlywheelError(
    'ERR_CONFIG_INVALID',
    `${found.name} names a database, but ${dataDir.value} has a project too: flywheel cannot tell which one you mean.`,
    {
      hint: `Unset ${found.name}, or name another directory with --data-dir. \`flywheel db copy\` copies the directory into the database.`,
    },
  );
}

/** @throws `ERR_LOCAL_NOT_FOUND` until `local init` or `register` is done; as {@link databaseOf}. */
export function requirePlace(settings: PlaceSettings): DataPlace {
  const found = databaseOf(settings);
  if (found !== null) return { kind: 'database', address: found };
  return { kind: 'directory', config: requireDataConfig(settings.dataDir.value) };
}

/** The chain of the flywheels of the settings, without asking it; `null` before there is one. */
export async function chainOfPlace(settings: PlaceSettings): Promise<DataChain | null> {
  const database = databaseOf(settings);
  if (database === null) return chainOfData(settings.dataDir.value);
  const genesisHash = await lookIntoDatabase(database, async (store) => (await store.progress()).genesis);
  return genesisHash === null ? null : { kind: 'cluster', name: clusterName(genesisHash), genesisHash };
}
