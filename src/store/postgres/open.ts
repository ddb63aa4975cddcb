/** Opens the store in a PostgreSQL database: its connections, what they insist on, its version. */
import { type Clock, systemClock } from '../../values/time.js';
import { createKyselyStore } from '../kysely-store.js';
import { STORE_VERSION } from '../migrations/index.js';
import type { Store } from '../store.js';
import { ServerClock } from './clock.js';
import { asAddressProblem, createPool, placeOf } from './connection.js';
import { kyselyOver, PostgresDriver } from './driver.js';
import { toStoreError } from './errors.js';
import { POSTGRES_MOVES } from './moves.js';
import { createNumbers } from './numbers.js';
import { StatementNames } from './statement-names.js';
import { readVersion, refuseOtherSchema, upgradeStore } from './upgrade.js';
import { createWriters } from './writers.js';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`, as libpq takes it. */
  readonly url: string;
  /** Connections for reads. @default 4 */
  readonly readers?: number;
  /** Connections for writes, each of another project; one more gives out numbers. @default 4 */
  readonly writers?: number;
  /** For how long to wait for a connection or a lock. @default 5000 */
  readonly busyTimeoutMs?: number;
  /** Is the schema made and brought up to date, or has it to be there as this build knows it? @default 'update' */
  readonly schema?: 'update' | 'require';
  /** Of this machine; time is the server's, and this only says how long ago it was told. @default the system's */
  readonly clock?: Clock;
}

/**
 * Opens the store, and creates or updates it first when needed; of many processes that start at once one does so.
 *
 * @throws `ERR_STORE_UNAVAILABLE` when the server cannot be reached or cannot serve, `ERR_CONFIG_INVALID` when it refuses the user or has
 *   no such database, `ERR_STORE_VERSION_MISMATCH` when the schema is of another build, `ERR_LOCAL_NOT_FOUND` when it is required and not there.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url, readers = 4, busyTimeoutMs = 5_000, schema = 'update' } = options;
  const clock = new ServerClock(options.clock ?? systemClock);
  const place = placeOf(url);
  const writers = createPool(url, options.writers ?? 4, busyTimeoutMs);
  const asking = createPool(url, 1, busyTimeoutMs, { session: 'set synchronous_commit = off' });
  try {
    const version = await readVersion(writers);
    refuseOtherSchema(version, place, schema);
    if (version < STORE_VERSION) await upgradeStore({ url });
  } catch (error) {
    await Promise.all([writers.end(), asking.end()]);
    throw toStoreError(asAddressProblem(error, place), place);
  }
  const common = {
    asking,
    place,
    busyTimeoutMs,
    clock,
    version: STORE_VERSION,
    names: new StatementNames(),
    mustWrite: schema === 'update',
  };
  const driver = new PostgresDriver({ ...common, pool: writers });
  const reading = new PostgresDriver({
    ...common,
    pool: createPool(url, readers, busyTimeoutMs),
    readOnly: true,
  });
  const reader = kyselyOver(reading);
  let closed = false;
  return createKyselyStore({
    clock,
    moves: POSTGRES_MOVES,
    writer: createWriters(driver, { place, busyTimeoutMs }),
    numbers: createNumbers(asking, place),
    isShared: true,
    reader: () => reader,
    close: async () => {
      if (closed) return;
      closed = true;
      await reading.destroy();
      await driver.destroy();
      await asking.end();
    },
  });
}
