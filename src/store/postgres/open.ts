/** Opens the store in a PostgreSQL database: its connections, who locks what, and what each transaction is told at its start. */

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

/** Both clocks of this machine: one may be set, the other may stand still while the machine sleeps. */
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

  /** @param before - when the server had not been asked yet. */
  tell(serverMs: number, before: LocalTime): void {
    this.#known = { serverMs, before };
  }

  /** No later than by what has passed since before it was asked, by that of the two clocks that went further; before the first transaction there is nothing to go by. */
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
  /** Connections for reads. @default 4 */
  readonly readers?: number;
  /** Connections for writes, each of another project. @default 4 */
  readonly writers?: number;
  /** For how long to wait for a connection or a lock. @default 5000 */
  readonly busyTimeoutMs?: number;
  /** May a statement take as long as it takes, as one does that looks through all rows? @default false */
  readonly isPatient?: boolean;
  /** Is the schema made and brought up to date, or has it to be there as this build knows it? @default 'update' */
  readonly schema?: 'update' | 'require';
  /** Of this machine; time is the server's, and this only says how long ago it was told. @default the system's */
  readonly clock?: Clock;
}

interface BegunRow {
  readonly nowMs: number;
  readonly version: number;
  readonly lineage: string;
  readonly started: string;
}

/**
 * Opens the store, and creates or updates it first when needed; of many processes that start at once one does so.
 *
 * @throws `ERR_STORE_UNAVAILABLE` when the server cannot be reached or cannot serve, `ERR_CONFIG_INVALID` when it refuses the user or has
 *   no such database, `ERR_STORE_VERSION_MISMATCH` when the schema is of another build, `ERR_LOCAL_NOT_FOUND` when it is required and not there.
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
  // Of one project one transaction of this process at a time, so that those who wait for it keep no connection from others.
  const mutex = new Mutex(busyTimeoutMs, () =>
    lockedTooLong(place, busyTimeoutMs, 'earlier transactions of this process'),
  );
  let isClosed = false;
  const check = (): void => {
    if (isClosed) throw storeClosed(place);
  };

  /** Runs what tells when it was begun. @throws `ERR_STORE_UNAVAILABLE` when the schema was changed since it was opened. */
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
      // Who takes single rows of any project waits for nobody.
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
      // Pools that nobody has used are unknown to kysely.
      await pool.end().catch(() => undefined);
    },
  });
}
