/** What kysely is given for SQLite: the synchronous connection, with failures and values as the store knows them. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  Kysely,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { SqliteConnection } from '../../files/sqlite-connection.js';
import { isBusy, isReadOnly, isRefusedRow, translateSqliteError } from '../../files/sqlite-errors.js';
import { toCell } from '../columns.js';
import { lockedTooLong, statementFailed, storeUnavailable } from '../errors.js';
import type { Tables } from '../schema.js';
import { RecordPlugin } from '../session.js';

/** What messages call the file. */
export const storeName = (path: string) => ({ path, noun: 'store' });

/**
 * What was thrown, as `ERR_STORE_UNAVAILABLE` where the store is at fault and `ERR_INTERNAL` where a statement is; an error of
 * the program stays as it is.
 */
export function toStoreError(error: unknown, file: string): FlywheelError {
  const translated = translateSqliteError(storeName(file), error);
  return isFlywheelError(translated) ? translated : statementFailed(isRefusedRow(error), error);
}

/** Longest pause between two tries to get the write lock; short, because a busy neighbour leaves only short gaps. */
const MAX_POLL_MS = 10;

interface SqliteTerms {
  /** Named in errors. */
  readonly file: string;
  /** For how long to wait for a lock that another process has. */
  readonly busyTimeoutMs: number;
}

/** A lock is asked for again and again rather than waited for inside SQLite, which would stop the whole process. */
export async function whenFree<Result>(
  { file, busyTimeoutMs }: SqliteTerms,
  work: () => Result,
): Promise<Result> {
  const startMs = performance.now();
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, MAX_POLL_MS)) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw toStoreError(error, file);
      if (performance.now() - startMs >= busyTimeoutMs)
        throw lockedTooLong(file, busyTimeoutMs, 'another process', error);
    }
    await delay(pauseMs);
  }
}

function translated<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw toStoreError(error, file);
  }
}

const doesNotStream = (): never => {
  throw new FlywheelError('ERR_INTERNAL', 'The store does not stream.');
};

/**
 * Statements of transactions. After some failures, a full disk among them, SQLite rolls back by itself; a statement that came then
 * would last at once, outside of any transaction.
 */
const statementsOf = (connection: SqliteConnection, file: string): SqliteDatabase => ({
  close: () => void connection.close(),
  prepare: (sql) =>
    translated(file, () => {
      requireTransaction(connection, file);
      const statement = connection.prepare(sql);
      return {
        reader: statement.reader,
        all: (parameters) => translated(file, () => statement.all(parameters.map(toCell))),
        run: (parameters) =>
          translated(file, () => {
            const { changes, lastInsertRowid } = statement.run(parameters.map(toCell));
            return { changes, lastInsertRowid };
          }),
        iterate: doesNotStream,
      };
    }),
});

function requireTransaction(connection: SqliteConnection, file: string): void {
  if (!connection.inTransaction)
    throw storeUnavailable(file, 'rolled the transaction back after an earlier failure');
}

/** Begins and ends transactions. A statement that was prepared for that would stay in progress where the lock is not to be had. */
class StoreDriver extends SqliteDriver {
  readonly #connection: SqliteConnection;
  readonly #terms: SqliteTerms;
  readonly #begin: string;

  constructor(connection: SqliteConnection, terms: SqliteTerms, begin: string) {
    super({ database: statementsOf(connection, terms.file) });
    this.#connection = connection;
    this.#terms = terms;
    this.#begin = begin;
  }

  override async beginTransaction(): Promise<void> {
    await whenFree(this.#terms, () => this.#connection.exec(this.#begin));
  }

  override async commitTransaction(): Promise<void> {
    requireTransaction(this.#connection, this.#terms.file);
    translated(this.#terms.file, () => this.#connection.exec('commit'));
  }

  override async rollbackTransaction(): Promise<void> {
    if (this.#connection.inTransaction) translated(this.#terms.file, () => this.#connection.exec('rollback'));
  }
}

/** @param begin - how a transaction takes its lock: a writer when it begins, a snapshot with its first statement. */
export function kyselyOver(
  connection: SqliteConnection,
  terms: SqliteTerms,
  begin: 'begin immediate' | 'begin',
): Kysely<Tables> {
  const driver = new StoreDriver(connection, terms, begin);
  return new Kysely({
    dialect: {
      createDriver: () => driver,
      createAdapter: () => new SqliteAdapter(),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createIntrospector: (db) => new SqliteIntrospector(db),
    },
    plugins: [new RecordPlugin()],
  });
}

/** An error of a read tells a write in the wrong place from a file that may not be written. */
export function asReadError(error: unknown): unknown {
  if (!(error instanceof FlywheelError) || !isReadOnly(error.cause)) return error;
  return new FlywheelError('ERR_INTERNAL', 'A read of the store tried to write.', { cause: error });
}
