/** Where the flywheel of the settings is kept: in the data directory that they name, or in a database; never in both. */
import type { DatabaseAddress } from '../cli/config/database-address.js';
import type { Settings } from '../cli/config/settings.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import {
  type DataConfig,
  isOnCluster,
  readBegunConfig,
  readDataConfig,
  requireDataConfig,
} from './local-config.js';

/** A flywheel of its own in the data directory, or those of a database. */
export type DataPlace =
  | { readonly kind: 'directory'; readonly config: DataConfig }
  | { readonly kind: 'database'; readonly address: DatabaseAddress };

/** What the settings say of it. */
export type PlaceSettings = Pick<Settings, 'database' | 'dataDir'>;

/**
 * The database that is to be used, or `null`. The variable that other programs have as well is nothing to a flywheel on a ledger
 * of its own; whatever else names a database beside a directory with a flywheel leaves open which of the two is meant.
 * @throws `ERR_CONFIG_INVALID` where it is open.
 */
export function databaseOf({ database, dataDir }: PlaceSettings): DatabaseAddress | null {
  const address = database.value;
  const config = address === null ? undefined : readBegunConfig(dataDir.value);
  if (address === null || config === undefined) return address;
  if (!isOnCluster(config) && !address.isOwn) return null;
  throw new FlywheelError(
    'ERR_CONFIG_INVALID',
    `${address.name} names a database, and ${dataDir.value} holds a flywheel of its own: it cannot be told which of the two is meant.`,
    {
      hint: `Unset ${address.name}, or give another directory with --data-dir. \`flywheel db copy\` brings the one in the directory into the database.`,
    },
  );
}

/** @returns `undefined` until there is a flywheel. @throws as {@link databaseOf} */
export function findPlace(settings: PlaceSettings): DataPlace | undefined {
  const address = databaseOf(settings);
  if (address !== null) return { kind: 'database', address };
  const config = readDataConfig(settings.dataDir.value);
  return config && { kind: 'directory', config };
}

/** @throws `ERR_LOCAL_NOT_FOUND` until `local init` or `register` is done; as {@link databaseOf}. */
export function requirePlace(settings: PlaceSettings): DataPlace {
  return findPlace(settings) ?? { kind: 'directory', config: requireDataConfig(settings.dataDir.value) };
}
