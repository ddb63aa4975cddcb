/**
 * kysely's driver over PostgreSQL: who writes takes the one write lock first, who reads sees one state, and of a commit whose
 * answer was lost the server is asked what became of it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type CompiledQuery,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely';
import pg, { type Pool, type PoolClient } from 'pg';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { OfProject } from '../store.js';
import type { Tables } from '../tables.js';
import type { ServerClock, TimedConnection } from './clock.js';
import {
  commitUnknown,
  isBroken,
  isLockTimeout,
  isReadOnly,
  lockedTooLong,
  storeClosed,
  storeUnavailable,
  takesNoWrites,
  toStoreError,
} from './errors.js';
import type { StatementNames } from './statement-names.js';

export interface PostgresDriverOptions {
  readonly pool: Pool;
  /** To ask what became of a commit whose connection was lost. */
  readonly asking: Pool;
  /** Named in errors; without secrets. */
  readonly place: string;
  /** For how long to wait for the write lock, here or in another process. */
  readonly busyTimeoutMs: number;
  /** Of statements that connections prepare. @default none */
  readonly names?: StatementNames;
  /** Is told the server's time with every transaction. */
  readonly clock: ServerClock;
  /** Of the schema that this build works on; with another, nothing is begun. @default whichever there is */
  readonly version?: number;
  /** Is it for snapshots only? */
  readonly readOnly?: boolean;
  /** Is nothing read either of a database that takes no writes? What a standby says may be old. @default no */
  readonly mustWrite?: boolean;
}

/** A lock of this store: one of all that are kept in the same database, each in a schema of its own. */
const lockOf = (what: string): string =>
  `hashtextextended(${pg.escapeLiteral(`${what} `)} || current_schema(), 0)`;

/**
 * What a writer locks, always in this order: the store, shared by those who write one project each and taken whole by all others,
 * then its project. So whoever waits holds nothing that others wait for but in the same order. The time that it waits at most is
 * set first; a list is worked through as it is written.
 */
function locksOf(of: OfProject | undefined, busyTimeoutMs: number): string {
  const store = lockOf('flywheel store');
  const waits = `select set_config('lock_timeout', '${busyTimeoutMs}', true)`;
  if (of === undefined) return `${waits}, pg_advisory_xact_lock(${store})`;
  const shared = `${waits}, pg_advisory_xact_lock_shared(${store})`;
  if (of.tokenId === null) return shared;
  return `${shared}, pg_advisory_xact_lock(${lockOf(`flywheel project ${of.tokenId}`)})`;
}

const COMMANDS_THAT_CHANGE: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE']);

/** The server's time, when it comes to this statement. */
const NOW = 'floor(extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms';

/** The version of the schema: it is changed alone with the store, so that it stays for as long as a writer is at work. */
const VERSION = '(select max(version) from store_migrations) as version';

/** Is it a standby, or set to be read only? */
const REFUSES = "pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean as refuses";

/** Where the data is and since when its server runs: an older copy is put in place by another line of history, or while it is down. */
const LINEAGE = "lineage_of('burns'::regclass) as lineage";
const COPY = `${LINEAGE}, extract(epoch from pg_postmaster_start_time())::text as started`;

interface Begun {
  readonly now_ms: number;
  readonly refuses: boolean;
  readonly lineage?: string;
  readonly started?: string;
  readonly version?: number;
  readonly id?: string;
}

/** Pause between two questions what became of a commit. */
const POLL_MS = 50;

/** One connection as long as one transaction has it. */
export class PostgresConnection implements TimedConnection {
  /** The transaction's number, by which the server knows what became of it. */
  transactionId: string | undefined;
  isBroken = false;
  /** The server's time when the transaction began. */
  nowMs = Number.NaN;
  copy = '';
  lineage = '';
  readonly client: PoolClient;
  readonly #options: PostgresDriverOptions;
  readonly #onError = (): void => {
    this.isBroken = true;
  };

  constructor(client: PoolClient, options: PostgresDriverOptions) {
    this.client = client;
    this.#options = options;
    // A connection that ends while nothing is asked on it says so by an event, which would end the process.
    client.on('error', this.#onError);
  }

  release(): void {
    this.client.off('error', this.#onError);
    this.client.release(this.isBroken);
  }

  async executeQuery<Result>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Result>> {
    try {
      const name = this.#options.names?.of(sql);
      const query = { text: sql, values: [...parameters] };
      const { command, rowCount, rows } = await this.client.query(
        name === undefined ? query : { ...query, name },
      );
      return COMMANDS_THAT_CHANGE.has(command)
        ? { numAffectedRows: BigInt(rowCount ?? 0), rows: rows as Result[] }
        : { rows: rows as Result[] };
    } catch (error) {
      this.isBroken ||= isBroken(error);
      if (this.#options.readOnly === true && isReadOnly(error))
        throw new FlywheelError('ERR_INTERNAL', 'A read of the store tried to write.', { cause: error });
      throw toStoreError(error, this.#options.place);
    }
  }

  streamQuery(): AsyncIterableIterator<never> {
    throw new FlywheelError('ERR_INTERNAL', 'The store does not stream.');
  }
}

export class PostgresDriver implements Driver {
  readonly #options: PostgresDriverOptions;
  #closed = false;

  constructor(options: PostgresDriverOptions) {
    this.#options = options;
  }

  /** What each transaction is told at its start. */
  get #now(): string {
    return [NOW, REFUSES, ...(this.#options.version === undefined ? [] : [VERSION, COPY])].join(', ');
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PostgresConnection> {
    try {
      if (this.#closed) throw storeClosed(this.#options.place);
      return new PostgresConnection(await this.#options.pool.connect(), this.#options);
    } catch (error) {
      throw toStoreError(error, this.#options.place);
    }
  }

  async releaseConnection(connection: PostgresConnection): Promise<void> {
    connection.release();
  }

  /** As {@link PostgresDriver.begin}, alone with the whole store where it writes. */
  beginTransaction(connection: PostgresConnection, settings: TransactionSettings): Promise<void> {
    return this.begin(connection, settings);
  }

  /**
   * One round trip. Each statement of a writer sees all that was committed before it, and with the lock nobody else commits what is
   * of the same project.
   */
  async begin(connection: PostgresConnection, settings: TransactionSettings, of?: OfProject): Promise<void> {
    const { place, busyTimeoutMs } = this.#options;
    try {
      if (settings.accessMode === 'read only') {
        await this.#begin(connection, `begin isolation level repeatable read read only; select ${this.#now}`);
        return;
      }
      const { id } = await this.#begin(
        connection,
        `begin isolation level read committed; ${locksOf(of, busyTimeoutMs)};
         select pg_current_xact_id()::text as id, ${this.#now}`,
      );
      connection.transactionId = id;
    } catch (error) {
      connection.isBroken ||= isBroken(error);
      await this.rollbackTransaction(connection);
      if (isLockTimeout(error)) throw lockedTooLong(place, busyTimeoutMs, 'another process', error);
      throw toStoreError(error, place);
    }
  }

  /** Sends all of it in one go. @returns the one row of the last statement, which tells the time. */
  async #begin(connection: PostgresConnection, statements: string): Promise<Begun> {
    const before = this.#options.clock.localNow();
    const results: unknown = await connection.client.query(statements);
    const begun = (results as { rows: Begun[] }[]).at(-1)?.rows[0];
    invariant(begun !== undefined, 'A query that selects without a table has a row.');
    this.#requireWrites(connection, begun);
    this.#requireSameVersion(begun);
    connection.nowMs = begun.now_ms;
    connection.lineage = begun.lineage ?? '';
    connection.copy = `${connection.lineage}@${begun.started ?? ''}`;
    this.#options.clock.tell(begun.now_ms, before);
    return begun;
  }

  /** @throws `ERR_STORE_UNAVAILABLE` when the database takes no writes; the connection is not used again. */
  #requireWrites(connection: PostgresConnection, { refuses }: Begun): void {
    if (!refuses || this.#options.mustWrite !== true) return;
    connection.isBroken = true;
    throw takesNoWrites(this.#options.place);
  }

  /** @throws `ERR_STORE_UNAVAILABLE` when the schema was changed since it was opened. */
  #requireSameVersion({ version }: Begun): void {
    const { version: own, place } = this.#options;
    if (own === undefined || version === own) return;
    throw storeUnavailable(place, `has schema version ${version} now, and this process works on ${own}`, {
      hint: 'Stop it, and start the version of flywheel that changed the schema, or a newer one.',
    });
  }

  async commitTransaction(connection: PostgresConnection): Promise<void> {
    try {
      const { command } = await connection.client.query('commit');
      // What failed before within the transaction has undone it, whether or not somebody has caught that failure.
      if (command === 'ROLLBACK')
        throw new FlywheelError(
          'ERR_STORE_UNAVAILABLE',
          'The store rolled the transaction back after an earlier failure.',
        );
    } catch (error) {
      if (!isBroken(error)) throw toStoreError(error, this.#options.place);
      connection.isBroken = true;
      await this.#learnOutcome(connection, error);
    }
  }

  async rollbackTransaction(connection: PostgresConnection): Promise<void> {
    if (connection.isBroken) return;
    try {
      await connection.client.query('rollback');
    } catch (error) {
      // Without its connection the server rolls it back by itself.
      connection.isBroken = true;
      if (!isBroken(error)) throw toStoreError(error, this.#options.place);
    }
  }

  /** Closes when those who have connections have given them back; those who come later are refused. */
  async destroy(): Promise<void> {
    this.#closed = true;
    await this.#options.pool.end();
  }

  /**
   * Asks whether a transaction was committed.
   * @throws `ERR_STORE_UNAVAILABLE` when it was not, or when nobody can be asked.
   */
  async #learnOutcome({ transactionId, lineage }: PostgresConnection, cause: unknown): Promise<void> {
    if (transactionId === undefined) return;
    const { place, busyTimeoutMs } = this.#options;
    const startMs = performance.now();
    while (performance.now() - startMs < busyTimeoutMs) {
      const outcome = await this.#askOutcome(transactionId, lineage);
      if (outcome === 'committed') return;
      if (outcome === 'aborted') throw toStoreError(cause, place);
      if (outcome === 'elsewhere') break;
      await delay(POLL_MS);
    }
    throw commitUnknown(place, cause);
  }

  /** Asks once, on a connection of its own. On another line of history the number of a transaction is that of another one. */
  async #askOutcome(transactionId: string, lineage: string): Promise<string | null> {
    try {
      const { rows } = await this.#options.asking.query<{ status: string | null; lineage?: string }>(
        `select pg_xact_status($1::xid8) as status${lineage === '' ? '' : `, ${LINEAGE}`}`,
        [transactionId],
      );
      const [{ status = null, lineage: now = lineage } = {}] = rows;
      return now === lineage ? status : 'elsewhere';
    } catch {
      // Nobody answers yet.
      return null;
    }
  }
}

/** kysely that speaks PostgreSQL's SQL through a driver. */
export const kyselyOver = (driver: Driver): Kysely<Tables> =>
  new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driver,
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
