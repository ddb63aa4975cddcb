/** One connection to an SQLite file: how it is opened, its transactions, its errors; not what is in it. */
import { closeSync, openSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type Libsql from 'libsql';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { ReadonlyBytes } from '../values/bytes.js';
import { watchFile } from './same-file.js';
import {
  type FileName,
  fileDamaged,
  fileReplaced,
  fileUnavailable,
  translateSqliteError,
} from './sqlite-errors.js';

/** Values that a file stores; amounts beyond 2^53 go as text. */
export type SqlValue = string | number | ReadonlyBytes | null;

/** A prepared statement; parameters and rows are plain lists in the order of the SQL. */
export interface Statement {
  run(parameters: readonly SqlValue[]): void;
  get(parameters: readonly SqlValue[]): readonly SqlValue[] | undefined;
  all(parameters: readonly SqlValue[]): readonly (readonly SqlValue[])[];
}

/** How long a writer waits for another process to finish. */
const BUSY_TIMEOUT_MS = 5_000;
/**
 * FULL: what a command reported as done survives power loss; on macOS only with a full sync, which changes nothing elsewhere.
 * WAL: readers never wait for the writer.
 */
const WAIT_PRAGMA = `PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`;
const WRITER_PRAGMAS =
  'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1';
const READER_PRAGMAS = 'PRAGMA query_only = 1';
/** Only the owner reads and writes it. SQLite gives the files beside it the same mode. */
const FILE_MODE = 0o600;

/** Which file, and whether it may be written. */
export interface SqliteFileOptions extends FileName {
  readonly readOnly: boolean;
  /** Make the file when it is missing. */
  readonly create: boolean;
  /** Looks at the file before anything is written into it. @throws when it must not be touched. */
  readonly inspect: (database: SqliteFile) => void;
}

/** A connection whose every failure names the file. */
export class SqliteFile {
  readonly path: string;
  readonly noun: string;
  readonly readOnly: boolean;
  readonly #connection: Libsql.Database;
  readonly #isSameFile: () => boolean;
  #open = true;

  constructor(
    { path, noun, readOnly }: Pick<SqliteFileOptions, 'path' | 'noun' | 'readOnly'>,
    connection: Libsql.Database,
  ) {
    this.path = path;
    this.noun = noun;
    this.readOnly = readOnly;
    this.#connection = connection;
    this.#isSameFile = watchFile(path);
  }

  exec(sql: string): void {
    this.#explained(() => this.#connection.exec(sql));
  }

  prepare(sql: string): Statement {
    const statement = this.#explained(() => this.#connection.prepare<SqlValue[]>(sql));
    if (statement.reader) statement.raw();
    // The driver takes one list for all parameters, which its types do not say.
    return statement as unknown as Statement;
  }

  /** Runs SQL that answers with one number. */
  number(sql: string): number {
    return this.#explained(() => Number(this.prepare(sql).get([])?.[0] ?? 0));
  }

  /** Runs `parse` on what a row holds; failing means that someone else has written it. */
  decode<Result>(parse: () => Result): Result {
    try {
      return parse();
    } catch (error) {
      throw fileDamaged(this, error);
    }
  }

  /** Runs `work` as one write: the lock is taken first, all is kept or nothing. */
  write<Result>(work: () => Result): Result {
    return this.#transaction('BEGIN IMMEDIATE', work);
  }

  /** Runs `work` on one state of the file, without a lock that others would wait for. */
  read<Result>(work: () => Result): Result {
    return this.#transaction('BEGIN', work);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#connection.close();
  }

  #transaction<Result>(begin: string, work: () => Result): Result {
    return this.#explained(() => {
      if (!this.#isSameFile()) throw fileReplaced(this);
      this.#connection.exec(begin);
      try {
        const result = work();
        this.#connection.exec('COMMIT');
        return result;
      } catch (error) {
        this.#rollBack();
        throw error;
      }
    });
  }

  #rollBack(): void {
    // A full disk has rolled back by itself already; the first error is the one to report.
    if (!this.#connection.inTransaction) return;
    try {
      this.#connection.exec('ROLLBACK');
    } catch {
      this.close();
    }
  }

  #explained<Result>(work: () => Result): Result {
    if (!this.#open) throw new FlywheelError('ERR_INTERNAL', `The ${this.noun} ${this.path} is closed.`);
    try {
      return work();
    } catch (error) {
      throw translateSqliteError(this, error);
    }
  }
}

function createFile(path: string): void {
  closeSync(openSync(path, 'a', FILE_MODE));
}

/**
 * Opens the file, making it if it is not there.
 * @throws `ERR_STORE_UNAVAILABLE` naming the file and why it cannot be used.
 */
export async function openSqliteFile(options: SqliteFileOptions): Promise<SqliteFile> {
  const path = resolve(options.path);
  const name = { path, noun: options.noun };
  const { default: Database } = await import('libsql');
  try {
    const size = statSync(path, { throwIfNoEntry: false })?.size;
    if (!options.create && !size) {
      throw fileUnavailable(name, size === 0 ? 'is empty' : 'is missing', {
        hint: 'Restore store.db and ledger.db together from one backup; nothing was written.',
      });
    }
    if (size === undefined) createFile(path);
    const connection = new Database(path);
    const database = new SqliteFile({ ...name, readOnly: options.readOnly }, connection);
    try {
      connection.exec(WAIT_PRAGMA);
      options.inspect(database);
      connection.exec(options.readOnly ? READER_PRAGMAS : WRITER_PRAGMAS);
    } catch (error) {
      database.close();
      throw error;
    }
    return database;
  } catch (error) {
    throw translateSqliteError(name, error);
  }
}
