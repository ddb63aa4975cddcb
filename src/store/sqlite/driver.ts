/**
 * kysely's driver over one synchronous SQLite connection: statements are prepared once, transactions wait for each other, those
 * that have waited are committed together, and whatever fails becomes an error of this program.
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
import { ownTurn } from '../../values/turns.js';
import type { Tables } from '../tables.js';
import { createTurns, type Turns } from '../turns.js';
import { lockedTooLong, storeClosed, toStoreError } from './errors.js';
import { SharedCommit } from './shared-commit.js';

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
  /**
   * Commits on another thread, once for all that have waited for their turn meanwhile; not for snapshots, of which one that waits
   * would get an older one. @default each transaction is committed by itself, and this thread waits for the disk
   */
  readonly commitBeside?: () => Promise<void>;
}

/** Prepared statements that are kept; the program has fewer, so this only bounds a mistake. */
const MAX_STATEMENTS = 256;
/** Longest pause between two tries to get the write lock; short, because a busy neighbour leaves only short gaps. */
const MAX_POLL_MS = 10;
/** The savepoint of a transaction that shares the commit of those before it. */
const PART = 'part';

type Row = Record<string, unknown>;

interface Prepared {
  readonly statement: SqliteStatement;
  /** Does it answer with rows? Asked once: the driver looks it up each time. */
  readonly reads: boolean;
}

export class SqliteDriver implements Driver {
  readonly #options: SqliteDriverOptions;
  readonly #turns: Turns;
  readonly #statements = new Map<string, Prepared>();
  /** Of transactions that have done their work and of whom the last is to commit. */
  #shared: SharedCommit | undefined;
  #isCommitting = false;
  #closed = false;

  constructor(options: SqliteDriverOptions) {
    this.#options = options;
    const { file, busyTimeoutMs } = options;
    // A slow disk is waited for, as where the whole process waits for it.
    this.#turns = createTurns(busyTimeoutMs, () =>
      this.#isCommitting ? null : lockedTooLong(file, busyTimeoutMs, 'another transaction of this process'),
    );
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<SqliteConnection> {
    await this.#turns.take();
    if (this.#closed) {
      this.#turns.give();
      throw storeClosed(this.#options.file);
    }
    return new SqliteConnection(this.#options.database, {
      execute: (sql, parameters) => this.#execute(sql, parameters),
      // A statement of no transaction lasts at once: it is not for those to take back that came before it.
      alone: () => this.#endShared(),
    });
  }

  async releaseConnection(connection: SqliteConnection): Promise<void> {
    if (!connection.hasLeft) await this.#leave();
  }

  /**
   * A read-only transaction is a snapshot that begins with its first statement; any other takes the write lock now. The lock
   * is asked for again and again rather than waited for inside SQLite, which would stop the whole process. Where the one before
   * has left its commit to this one, the lock is there, and what this one does is a part that can be taken back by itself.
   */
  async beginTransaction(connection: SqliteConnection, settings: TransactionSettings): Promise<void> {
    const { file, busyTimeoutMs } = this.#options;
    // Those that follow each other without a commit would else be one long turn of the event loop.
    if (settings.accessMode !== 'read only') await ownTurn();
    if (this.#shared !== undefined) {
      this.#execute(`savepoint ${PART}`, []);
      this.#shared.join();
      connection.begin('part');
      return;
    }
    const begin = settings.accessMode === 'read only' ? 'begin deferred' : 'begin immediate';
    const startMs = performance.now();
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, MAX_POLL_MS)) {
      try {
        this.#prepare(begin).statement.run([]);
        connection.begin('whole');
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
    if (this.#options.commitBeside === undefined) {
      this.#execute('commit', []);
      return;
    }
    if (connection.begun === 'part') this.#execute(`release ${PART}`, []);
    this.#shared ??= new SharedCommit();
    const done = this.#shared.add();
    connection.hasLeft = true;
    await Promise.all([done, this.#leave()]);
  }

  async rollbackTransaction(connection: SqliteConnection): Promise<void> {
    // What has left is undone by who commits, and somebody else is at it now.
    if (connection.hasLeft || !this.#options.database.inTransaction) return;
    if (connection.begun !== 'part') {
      this.#execute('rollback', []);
      return;
    }
    try {
      this.#execute(`rollback to ${PART}`, []);
      this.#execute(`release ${PART}`, []);
    } catch (error) {
      // What cannot be taken back alone must not be committed with the rest.
      await this.#endShared(() => this.#undo(error));
      throw error;
    }
  }

  /** Closes when it is its turn; those who come later are refused. */
  async destroy(beforeClosing?: () => void): Promise<void> {
    await this.#turns.take();
    this.#closed = true;
    try {
      await this.#endShared();
      beforeClosing?.();
    } finally {
      this.#statements.clear();
      this.#options.database.close();
      this.#turns.give();
    }
  }

  /** Gives the turn away. What is to be committed is, unless the next may still add to it. */
  async #leave(): Promise<void> {
    const mayGrow = this.#shared?.isFull === false && this.#options.database.inTransaction;
    if (this.#turns.waiting === 0 || !mayGrow) await this.#endShared();
    this.#turns.give();
  }

  async #endShared(end = () => this.#commitBeside()): Promise<void> {
    const shared = this.#shared;
    this.#shared = undefined;
    await shared?.end(end);
  }

  async #commitBeside(): Promise<void> {
    if (!this.#options.database.inTransaction) throw rolledBack();
    this.#isCommitting = true;
    try {
      await this.#options.commitBeside?.();
    } catch (error) {
      this.#undo(toStoreError(error, this.#options.file));
    } finally {
      this.#isCommitting = false;
    }
  }

  /** @throws why, once all that is not committed is undone. */
  #undo(why: unknown): never {
    if (this.#options.database.inTransaction) this.#execute('rollback', []);
    throw why;
  }

  #execute(sql: string, parameters: readonly unknown[]): QueryResult<Row> {
    try {
      const { statement, reads } = this.#prepare(sql);
      if (reads) return { rows: statement.all(parameters).map(toRow) };
      return { numAffectedRows: BigInt(statement.run(parameters).changes), rows: [] };
    } catch (error) {
      if (this.#options.readOnly && isReadOnly(error))
        throw new FlywheelError('ERR_INTERNAL', 'A read of the store tried to write.', { cause: error });
      throw toStoreError(error, this.#options.file);
    }
  }

  #prepare(sql: string): Prepared {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    const statement = this.#options.database.prepare(sql);
    const prepared = { statement, reads: statement.reader };
    this.#statements.set(sql, prepared);
    return prepared;
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

const rolledBack = (): FlywheelError =>
  new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    'The store rolled the transaction back after an earlier failure.',
  );

/** How statements are run. */
interface Run {
  execute(sql: string, parameters: readonly unknown[]): QueryResult<Row>;
  /** Comes before a statement that is of no transaction. */
  alone(): Promise<void>;
}

/** The connection for the time of one turn. */
class SqliteConnection implements DatabaseConnection {
  readonly #database: SqliteDatabase;
  readonly #run: Run;
  /** A transaction of its own, or a part of one that others have begun. */
  begun: 'whole' | 'part' | undefined;
  /** Has it given its turn away, and waits for what others commit? */
  hasLeft = false;

  constructor(database: SqliteDatabase, run: Run) {
    this.#database = database;
    this.#run = run;
  }

  begin(as: 'whole' | 'part'): void {
    this.begun = as;
  }

  /**
   * After some failures, a full disk among them, SQLite rolls back by itself; a statement that came then would be lasting at
   * once, outside of any transaction.
   * @throws `ERR_STORE_UNAVAILABLE`
   */
  check(): void {
    if (this.begun !== undefined && !this.#database.inTransaction) throw rolledBack();
  }

  async executeQuery<Result>(query: CompiledQuery): Promise<QueryResult<Result>> {
    this.check();
    if (this.begun === undefined) await this.#run.alone();
    return this.#run.execute(query.sql, query.parameters) as QueryResult<Result>;
  }

  streamQuery(): AsyncIterableIterator<never> {
    throw new FlywheelError('ERR_INTERNAL', 'The store does not stream.');
  }
}
