/** Opens the store in a PostgreSQL database: its connections, its locks, and the start of each transaction. */

import { type Expression, type Kysely, type RawBuilder, sql } from 'kysely';
import { invariant } from '../../errors/flywheel-error.js';
import { type Clock, systemClock } from '../../values/time.js';
import { BEGUN, STORE_VERSION } from '../ddl.js';
import { lockedTooLong, storeClosed, storeUnavailable } from '../errors.js';
import { Mutex } from '../mutex.js';
import type { Tables } from '../schema.js';
import { type Begun, createStore, type Store } from '../store.js';
import { asAddressProblem, createPool, kyselyOver, placeOf } from './connection.js';
import { toStoreError } from './errors.js';
import { readVersion, refuseOtherSchema, upgradeStore } from './upgrade.js';

/** Two clocks of this machine: the wall clock may be set, the steady clock may stop during sleep. */
interface LocalTime {
  readonly wallMs: number;
  readonly steadyMs: number;
}

class ServerClock {
  readonly #clock: Clock;
  #known: { readonly serverMs: number; readonly before: LocalTime } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  localNow(): LocalTime {
    return { wallMs: this.#clock.nowMs(), steadyMs: performance.now() };
  }

  tell(serverMs: number, before: LocalTime): void {
    this.#known = { serverMs, before };
  }

  /**
   * Upper bound of the server's time: its last known time plus the larger of both clocks' progress since before that query.
   * Wall time before the first transaction.
   */
  latestMs(): number {
    const now = this.localNow();
    if (this.#known === undefined) return now.wallMs;
    const { serverMs, before } = this.#known;
    return serverMs + Math.max(0, now.wallMs - before.wallMs, now.steadyMs - before.steadyMs);
  }
}

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`, as libpq takes it. */
  readonly url: string;
  readonly readers?: number;
  /** Connections for writes. Each writes another project. @default 4 */
  readonly writers?: number;
  readonly busyTimeoutMs?: number;
  /** Disables the statement timeout, for queries that scan all rows. @default false */
  readonly isPatient?: boolean;
  /** `update` creates or migrates the schema; `require` refuses another version. @default 'update' */
  readonly schema?: 'update' | 'require';
  /** Local clock; measures only the time since the server's last answer. @default the system's */
  readonly clock?: Clock;
}

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
  const { url, readers = 4, busyTimeoutMs = 5_000, schema = 'update', isPatient = false } = options;
  const clock = new ServerClock(options.clock ?? systemClock);
  const place = placeOf(url);
  const pool = createPool(url, { max: options.writers ?? 4, connectTimeoutMs: busyTimeoutMs });
  try {
    const version = await readVersion(pool, place);
    refuseOtherSchema(version, place, schema);
    if (version < STORE_VERSION) await upgradeStore({ url });
  } catch (error) {
    await pool.end();
    throw toStoreError(asAddressProblem(error, place), place);
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

  return createStore({
    async write(work, of) {
      check();
      const run = () =>
        writer
          .transaction()
          .setIsolationLevel('read committed')
          .execute(async (trx) => {
            const project = of === undefined ? null : (of.tokenId ?? '');
            const locked = sql<BegunRow>`select * from begin_write(${String(busyTimeoutMs)}, ${project})`;
            const { begun } = await begin(trx, locked);
            return work({ db: trx, database: 'postgres' }, begun);
          });
      // A writer that locks row by row takes no project lock.
      return of?.tokenId === null ? run() : mutex.run(run, of?.tokenId);
    },
    async read(work) {
      check();
      return reader
        .transaction()
        .setIsolationLevel('repeatable read')
        .setAccessMode('read only')
        .execute(async (trx) => {
          const { begun } = await begin(trx, sql.raw<BegunRow>(BEGUN));
          return work({ db: trx, database: 'postgres' }, begun);
        });
    },
    async ask<Found>(query: (db: Kysely<Tables>) => Expression<Found>, { takes } = { takes: false }) {
      check();
      const db = takes ? writer : reader;
      return begin(
        db,
        sql<
          BegunRow & Partial<Found>
        >`select * from (${sql.raw(BEGUN)}) as begun left join lateral (${query(db)}) as found on true`,
      );
    },
    latestMs: () => clock.latestMs(),
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
