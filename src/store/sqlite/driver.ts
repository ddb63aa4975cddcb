/**
 * kysely's driver over one synchronous SQLite connection: statements are prepared once, transactions wait for each other,
 * and whatever fails becomes an error of this program.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from 'kysely';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isBusy, isReadOnly } from '../../files/sqlite-errors.js';
import type { Tables } from '../tables.js';
import { createTurns, type Turns } from '../turns.js';
import { lockedTooLong, storeClosed, toStoreError } from './errors.js';

/** What is needed of a prepared statement. */
export interface SqliteStatement {
  /** Does it answer with rows? */
  readonly reader: boolean;
  run(parameters: readonly unknown[]): { readonly changes: number };
  all(parameters: readonly unknown[]): unknown[];
}

/** What is needed of a connection. */
export interface SqliteDatabase {
  prepare(sql: string): SqliteStatement;
  readonly inTransaction: boolean;
  close(): void;
}

export interface SqliteDriverOptions {
  readonly database: SqliteDatabase;
  /** Named in errors. */
  readonly file: string;
  /** For how long to wait for a lock, here or in another process. */
  readonly busyTimeoutMs: number;
  /** Is the connection for snapshots only? Errors then tell a write in the wrong place from a read-only file. */
  readonly readOnly?: boolean;
}

/** Prepared statements that are kept; the program has fewer, so this only bounds a mistake. */
const MAX_STATEMENTS = 256;
/** Longest pause between two tries to get the write lock; short, because a busy neighbour leaves only short gaps. */
const MAX_POLL_MS = 10;

type Row = Record<string, unknown>;

export class SqliteDriver implements Driver {
  readonly #options: SqliteDriverOptions;
  readonly #turns: Turns;
  readonly #statements = new Map<string, SqliteStatement>();
  #closed = false;

  constructor(options: SqliteDriverOptions) {
    this.#options = options;
    const { file, busyTimeoutMs } = options;
    this.#turns = createTurns(busyTimeoutMs, () =>
      lockedTooLong(file, busyTimeoutMs, 'another transaction of this process'),
    );
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<SqliteConnection> {
    await this.#turns.take();
    if (this.#closed) {
      this.#turns.give();
      throw storeClosed(this.#options.file);
    }
    return new SqliteConnection((sql, parameters) => this.#execute(sql, parameters), this.#options.database);
  }

  async releaseConnection(): Promise<void> {
    this.#turns.give();
  }

  /**
   * A read-only transaction is a snapshot that begins with its first statement; any other takes the write lock now. The lock
   * is asked for again and again rather than waited for inside SQLite, which would stop the whole process.
   */
  async beginTransaction(connection: SqliteConnection, settings: TransactionSettings): Promise<void> {
    const { file, busyTimeoutMs } = this.#options;
    const begin = settings.accessMode === 'read only' ? 'begin deferred' : 'begin immediate';
    const startMs = performance.now();
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, MAX_POLL_MS)) {
      try {
        this.#prepare(begin).run([]);
        connection.begin();
        return;
      } catch (error) {
        if (!isBusy(error)) throw toStoreError(error, file);
        if (performance.now() - startMs >= busyTimeoutMs)
          throw lockedTooLong(file, busyTimeoutMs, 'another process', error);
      }
      await delay(pauseMs);
    }
  }

  async commitTransaction(connection: SqliteConnection): Promise<void> {
    connection.check();
    this.#execute('commit', []);
  }

  async rollbackTransaction(): Promise<void> {
    if (this.#options.database.inTransaction) this.#execute('rollback', []);
  }

  /** Closes when it is its turn; those who come later are refused. */
  async destroy(beforeClosing?: () => void): Promise<void> {
    await this.#turns.take();
    this.#closed = true;
    try {
      beforeClosing?.();
    } finally {
      this.#statements.clear();
      this.#options.database.close();
      this.#turns.give();
    }
  }

  #execute(sql: string, parameters: readonly unknown[]): QueryResult<Row> {
    try {
      const statement = this.#prepare(sql);
      if (statement.reader) return { rows: statement.all(parameters).map(toRow) };
      return { numAffectedRows: BigInt(statement.run(parameters).changes), rows: [] };
    } catch (error) {
      if (this.#options.readOnly && isReadOnly(error))
        throw new FlywheelError('ERR_INTERNAL', 'A read of the store tried to write.', { cause: error });
      throw toStoreError(error, this.#options.file);
    }
  }

  #prepare(sql: string): SqliteStatement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    const statement = this.#options.database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** kysely that speaks SQLite's SQL through a driver. */
export function kyselyOver(driver: SqliteDriver): Kysely<Tables> {
  return new Kysely({
    dialect: {
      createDriver: () => driver,
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (db) => new SqliteIntrospector(db),
    },
  });
}

/** Blobs come as ArrayBuffer; `_metadata` is libsql's own and no column. */
function toRow(value: unknown): Row {
  const row = value as Row;
  if ('_metadata' in row) delete row['_metadata'];
  for (const column in row) {
    const cell = row[column];
    if (cell instanceof ArrayBuffer) row[column] = new Uint8Array(cell);
  }
  return row;
}

/** The connection for the time of one turn. */
class SqliteConnection implements DatabaseConnection {
  readonly #execute: (sql: string, parameters: readonly unknown[]) => QueryResult<Row>;
  readonly #database: SqliteDatabase;
  #hasBegun = false;

  constructor(
    execute: (sql: string, parameters: readonly unknown[]) => QueryResult<Row>,
    database: SqliteDatabase,
  ) {
    this.#execute = execute;
    this.#database = database;
  }

  begin(): void {
    this.#hasBegun = true;
  }

  /**
   * After some failures, a full disk among them, SQLite rolls back by itself; a statement that came then would be lasting at
   * once, outside of any transaction.
   * @throws `ERR_STORE_UNAVAILABLE`
   */
  check(): void {
    if (this.#hasBegun && !this.#database.inTransaction) {
      throw new FlywheelError(
        'ERR_STORE_UNAVAILABLE',
        'The store rolled the transaction back after an earlier failure.',
      );
    }
  }

  async executeQuery<Result>(query: CompiledQuery): Promise<QueryResult<Result>> {
    this.check();
    return this.#execute(query.sql, query.parameters) as QueryResult<Result>;
  }

  streamQuery(): AsyncIterableIterator<never> {
    throw new FlywheelError('ERR_INTERNAL', 'The store does not stream.');
  }
}
