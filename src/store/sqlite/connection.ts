/** What kysely's SQLite dialect is given: the synchronous connection, with failures and values as the store knows them. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  CompiledQuery,
  type DatabaseConnection,
  Kysely,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type SqliteStatement,
} from 'kysely';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { SqliteConnection } from '../../files/sqlite-connection.js';
import { isBusy, isReadOnly } from '../../files/sqlite-errors.js';
import { toCell } from '../columns.js';
import { lockedTooLong } from '../errors.js';
import type { Tables } from '../schema.js';
import { RecordPlugin } from '../session.js';
import { toStoreError } from './errors.js';

/** Longest pause between two tries to get the write lock; short, because a busy neighbour leaves only short gaps. */
const MAX_POLL_MS = 10;

export interface SqliteTerms {
  /** Named in errors. */
  readonly file: string;
  /** For how long to wait for a lock that another process has. */
  readonly busyTimeoutMs: number;
}

/**
 * The connection as kysely uses it. After some failures, a full disk among them, SQLite rolls back by itself; a statement that came
 * then would last at once, outside of any transaction.
 */
class StoreConnection implements SqliteDatabase {
  readonly #connection: SqliteConnection;
  readonly #file: string;
  #isBegun = false;

  constructor(connection: SqliteConnection, file: string) {
    this.#connection = connection;
    this.#file = file;
  }

  close(): void {
    this.#connection.close();
  }

  prepare(sql: string): SqliteStatement {
    if (/^(?:begin|commit|rollback)/.test(sql)) return this.#control(sql);
    return this.#translated(() => {
      if (this.#isBegun && !this.#connection.inTransaction) throw rolledBack();
      const statement = this.#connection.prepare(sql);
      const run = <Result>(work: (cells: unknown[]) => Result, parameters: readonly unknown[]): Result =>
        this.#translated(() => work(parameters.map(toCell)));
      return {
        reader: statement.reader,
        all: (parameters) => run((cells) => statement.all(cells), parameters),
        run: (parameters) =>
          run((cells) => {
            const { changes, lastInsertRowid } = statement.run(cells);
            return { changes, lastInsertRowid };
          }, parameters),
        iterate: doesNotStream,
      };
    });
  }

  /** Begins or ends a transaction. A statement that was prepared for it would stay in progress where the lock is not to be had. */
  #control(sql: string): SqliteStatement {
    const run = (): typeof NOTHING_CHANGED => {
      const { inTransaction } = this.#connection;
      // A rollback where SQLite has done so by itself.
      if (sql === 'rollback' && !inTransaction) return NOTHING_CHANGED;
      if (sql === 'commit' && !inTransaction) throw rolledBack();
      this.#translated(() => this.#connection.exec(sql));
      this.#isBegun = this.#connection.inTransaction;
      return NOTHING_CHANGED;
    };
    return { reader: false, run, all: () => [], iterate: doesNotStream };
  }

  #translated<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      throw toStoreError(error, this.#file);
    }
  }
}

const NOTHING_CHANGED = { changes: 0, lastInsertRowid: 0 };

const doesNotStream = (): never => {
  throw new FlywheelError('ERR_INTERNAL', 'The store does not stream.');
};

const rolledBack = (): FlywheelError =>
  new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    'The store rolled the transaction back after an earlier failure.',
  );

/**
 * Takes the write lock when a transaction begins. The lock is asked for again and again rather than waited for inside SQLite, which
 * would stop the whole process.
 */
class ImmediateDriver extends SqliteDriver {
  readonly #terms: SqliteTerms;

  constructor(database: SqliteDatabase, terms: SqliteTerms) {
    super({ database });
    this.#terms = terms;
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    const { file, busyTimeoutMs } = this.#terms;
    const startMs = performance.now();
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, MAX_POLL_MS)) {
      try {
        await connection.executeQuery(CompiledQuery.raw('begin immediate'));
        return;
      } catch (error) {
        const isLocked = error instanceof FlywheelError && isBusy(error.cause);
        if (!isLocked) throw error;
        if (performance.now() - startMs >= busyTimeoutMs)
          throw lockedTooLong(file, busyTimeoutMs, 'another process', error.cause);
      }
      await delay(pauseMs);
    }
  }
}

class WriterDialect extends SqliteDialect {
  readonly #driver: SqliteDriver;

  constructor(database: SqliteDatabase, terms: SqliteTerms) {
    super({ database });
    this.#driver = new ImmediateDriver(database, terms);
  }

  override createDriver(): SqliteDriver {
    return this.#driver;
  }
}

export const writerOver = (connection: SqliteConnection, terms: SqliteTerms): Kysely<Tables> =>
  new Kysely({
    dialect: new WriterDialect(new StoreConnection(connection, terms.file), terms),
    plugins: [new RecordPlugin()],
  });

/** For snapshots: each begins with its first statement. */
export const readerOver = (connection: SqliteConnection, file: string): Kysely<Tables> =>
  new Kysely({
    dialect: new SqliteDialect({ database: new StoreConnection(connection, file) }),
    plugins: [new RecordPlugin()],
  });

/** An error of a read tells a write in the wrong place from a file that may not be written. */
export function asReadError(error: unknown): unknown {
  if (!(error instanceof FlywheelError) || !isReadOnly(error.cause)) return error;
  return new FlywheelError('ERR_INTERNAL', 'A read of the store tried to write.', { cause: error });
}
