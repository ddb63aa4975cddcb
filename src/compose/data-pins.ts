/** What the flywheel of a data directory is held against, read from its files alone. */
import type { Pins } from '../approval/pins.js';
import type { Flywheel } from '../chain/flywheel.js';
import type { FoundRegistration } from '../engine/admin/find-registration.js';
import { flywheelOf } from '../engine/batches/batch-context.js';
import { lookIntoSqliteStore } from '../store/sqlite/open.js';
import type { StoreTransaction } from '../store/store.js';
import { dataFiles, exists, isOnCluster, readDataConfig } from './local-config.js';
import { registeredPins } from './pinned.js';

/** A flywheel as it was registered. */
export interface Registered {
  readonly flywheel: Flywheel;
  readonly symbol: string;
}

/** The flywheel of a project. */
export const registeredOf = ({ token, flywheel }: FoundRegistration): Registered => ({
  flywheel: flywheelOf(token, flywheel),
  symbol: token.symbol,
});

/** The flywheel of the data directory: who holds the directory holds its keys, so there is none to doubt. */
export async function readRegistered(tx: StoreTransaction): Promise<Registered | null> {
  const [token] = await tx.tokens.list();
  const flywheel = token === undefined ? undefined : await tx.flywheels.ofToken(token.id);
  if (token === undefined || flywheel === undefined) return null;
  return registeredOf({ token, flywheel });
}

/** @returns `null` before there is a flywheel. @throws `ERR_STORE_UNAVAILABLE` */
export async function pinsOfData(dataDir: string): Promise<Pins | null> {
  const config = readDataConfig(dataDir);
  const { store } = dataFiles(dataDir);
  if (config === undefined || !exists(store)) return null;
  const registered = await lookIntoSqliteStore(store, readRegistered);
  if (registered === null) return null;
  const pins = registeredPins(registered.flywheel);
  return isOnCluster(config) ? { ...pins, facts: config.cluster.facts } : pins;
}
