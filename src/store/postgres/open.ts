/** Opens the store in a PostgreSQL database: its connections, its locks, and the start of each transaction. */

import { type Expression, type Kysely, type RawBuilder, sql } from 'kysely';
import { invariant } from '../../errors/flywheel-error.js';
import { type Clock, systemClock } from '../../values/time.js';
import { BEGUN, STORE_VERSION } from '../ddl.js';
import { lockedTooLong, storeClosed, storeUnavailable } from '../errors.js';
import { Mutex } from '../mutex.js';
import type { Tables } from '../schema.js';
import type { StoreSession } from '../session.js';
import { type Begun, createStore, type Store } from '../store.js';
import { createPool, kyselyOver, placeOf, toOpeningError } from './connection.js';
import { readVersion, requireSchema, upgradeStore } from './upgrade.js';

/**
 * An upper bound of the server's time: its last known time plus the larger progress of this machine's two clocks since before that query.
 * The wall clock may be set, the steady clock may stop during sleep. Wall time before the first transaction.
 */
function serverClock(clock: Clock) {
  const localNow = () => ({ wallMs: clock.nowMs(), steadyMs: performance.now() });
  let known: { readonly serverMs: number; readonly before: ReturnType<typeof localNow> } | undefined;
  return {
    localNow,
    tell: (serverMs: number, before: ReturnType<typeof localNow>): void => {
      known = { serverMs, before };
    },
    latestMs(): number {
      const now = localNow();
      if (known === undefined) return now.wallMs;
      const { serverMs, before } = known;
      return serverMs + Math.max(0, now.wallMs - before.wallMs, now.steadyMs - before.steadyMs);
    },
  };
}

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`, as libpq takes it. */
  readonly url: string;
  /** Most connections of this process; each write takes one for another project. @default 10 */
  readonly connections?: number;
  readonly busyTimeoutMs?: number;
  /** Disables the statement timeout, for queries that scan all rows. @default false */
  readonly isPatient?: boolean;
  /** `update` creates or migrates the schema; `require` refuses another version. @default 'update' */
  readonly schema?: 'update' | 'require';
  /** Local clock; measures only the time since the server's last answer. @default the system's */
  readonly clock?: Clock;
}

/** One connection counts requests, one registers or migrates. */
const OTHERS = 2;

interface BegunRow {
  readonly nowMs: number;
  readonly version: number;
  readonly lineage: string;
  readonly started: string;
}

/**
 * Opens the store and first creates or migrates its schema when needed; of several processes that start together, one does so.
 * @throws `ERR_STORE_UNAVAILABLE` if the server cannot be reached or cannot serve, `ERR_CONFIG_INVALID` if it refuses the user or lacks the
 *  database, `ERR_STORE_VERSION_MISMATCH` for the schema of another build, `ERR_LOCAL_NOT_FOUND` if the schema is required and missing
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url, connections = 10, busyTimeoutMs = 5_000, schema = 'update', isPatient = false } = options;
  const readers = Math.floor((connections - OTHERS) / 2);
  const writers = connections - OTHERS - readers;
  const clock = serverClock(options.clock ?? systemClock);
  const place = placeOf(url);
  const pool = createPool(url, { max: writers, connectTimeoutMs: busyTimeoutMs });
  try {
    const version = await readVersion(pool, place);
    if (schema === 'require') requireSchema(version, place);
    else if (version < STORE_VERSION) await upgradeStore({ url });
  } catch (error) {
    await pool.end();
    throw toOpeningError(error, place);
  }
  const terms = { place, busyTimeoutMs, mustWrite: schema === 'update' };
  const writer = kyselyOver(pool, terms);
  const patience = isPatient ? { queryTimeoutMs: null } : {};
  const reading = createPool(url, { max: readers, connectTimeoutMs: busyTimeoutMs, ...patience });
  const reader = kyselyOver(reading, terms);
  // One transaction of this process at a time for each project: waiting ones must not occupy the pool's connections.
  const mutex = new Mutex(busyTimeoutMs, () =>
    lockedTooLong(place, busyTimeoutMs, 'earlier transactions of this process'),
  );
  let isClosed = false;
  const check = (): void => {
    if (isClosed) throw storeClosed(place);
  };

  /** @throws `ERR_STORE_UNAVAILABLE` if the schema was migrated after this store was opened */
  const begin = async <Row extends BegunRow>(db: Kysely<Tables>, asked: RawBuilder<Row>) => {
    const before = clock.localNow();
    const { rows } = await asked.execute(db);
    const [row] = rows;
    invariant(row !== undefined, 'A query that selects without a table has a row.');
    const { nowMs, version, lineage, started } = row;
    if (version !== STORE_VERSION)
      throw storeUnavailable(
        place,
        `now has schema version ${version}, but this process needs ${STORE_VERSION}`,
        {
          hint: 'Restart this process with the version of flywheel that migrated the schema, or a newer one.',
        },
      );
    clock.tell(nowMs, before);
    const begun: Begun = { nowMs, lineage, copy: `${lineage}@${started}` };
    return { row, begun };
  };

  /** @param start - begins the transaction and reads the clock in one round trip, hence without parameters */
  const transact = <Result>(
    db: Kysely<Tables>,
    start: RawBuilder<BegunRow>,
    work: (session: StoreSession, begun: Begun) => Promise<Result>,
  ): Promise<Result> =>
    db.transaction().execute(async (trx) => {
      const { begun } = await begin(trx, start);
      return work({ db: trx, database: 'postgres' }, begun);
    });

  return createStore({
    async write(work, of) {
      check();
      const project = of === undefined ? null : (of.tokenId ?? '');
      const start = sql<BegunRow>`begin isolation level read committed;
        select * from begin_write(${sql.lit(String(busyTimeoutMs))}, ${sql.lit(project)})`;
      const run = () => transact(writer, start, work);
      // A writer that locks row by row takes no project lock.
      return of?.tokenId === null ? run() : mutex.run(run, of?.tokenId);
    },
    async read(work) {
      check();
      const start = `begin isolation level repeatable read read only; ${BEGUN}`;
      return transact(reader, sql.raw(start), work);
    },
    async ask<Found>(query: Expression<Found>, { takes } = { takes: false }) {
      check();
      const db = takes ? writer : reader;
      return begin(
        db,
        sql<
          BegunRow & Partial<Found>
        >`select * from (${sql.raw(BEGUN)}) as begun left join lateral (${query}) as found on true`,
      );
    },
    latestMs: clock.latestMs,
    async close(ended) {
      if (isClosed) return;
      isClosed = true;
      await ended;
      await writer.destroy();
      await reader.destroy();
      // kysely ends only pools that it has used.
      await pool.end().catch(() => undefined);
    },
  });
}
