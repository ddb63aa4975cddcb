/** A synchronous connection to an SQLite file, with statements, transactions and errors. */
import { resolve } from 'node:path';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { ReadonlyBytes } from '../values/bytes.js';
import { sha256 } from '../values/digest.js';
import { watchFile } from './read-file.js';
import {
  BUSY_TIMEOUT_MS,
  type ConnectionOptions,
  loadSqlite,
  prepareSqliteFile,
  type SqliteConnection,
  schemaVersionOf,
  untilFree,
} from './sqlite-connection.js';
import {
  type FileName,
  fileDamaged,
  fileReplaced,
  fileUnavailable,
  translateSqliteError,
} from './sqlite-errors.js';

/** Amounts above 2^53 are stored as text. */
export type SqlValue = string | number | ReadonlyBytes | null;

export interface Statement {
  run(parameters: readonly SqlValue[]): void;
  get(parameters: readonly SqlValue[]): readonly SqlValue[] | undefined;
  all(parameters: readonly SqlValue[]): readonly (readonly SqlValue[])[];
}

interface SqliteFileOptions extends FileName {
  /** @default `power-cut` */
  readonly use?: Exclude<ConnectionOptions['use'], 'bare'>;
  readonly create: boolean;
  /** Checks the file before anything is written. @throws if it must not be used */
  readonly inspect?: (database: SqliteFile) => void;
}

const MAX_STATEMENTS = 64;

export class SqliteFile {
  readonly path: string;
  readonly noun: string;
  readonly #connection: SqliteConnection;
  readonly #isSameFile: () => boolean;
  #isSameContent: () => boolean = () => true;
  readonly #statements = new Map<string, Statement>();
  #open = true;

  constructor({ path, noun }: FileName, connection: SqliteConnection) {
    this.path = path;
    this.noun = noun;
    this.#connection = connection;
    this.#isSameFile = watchFile(path);
  }

  exec(sql: string): void {
    this.#explained(() => this.#connection.exec(sql));
  }

  /** Statements are cached by text. */
  prepare(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const made = this.#explained(() => this.#connection.prepare<SqlValue[]>(sql));
    if (made.reader) made.raw();
    // The driver takes all parameters as one list, which its types do not declare.
    const statement = made as unknown as Statement;
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    this.#statements.set(sql, statement);
    return statement;
  }

  /** The first column of the first row as a number, 0 without rows. */
  number(sql: string): number {
    return this.#explained(() => Number(this.prepare(sql).get([])?.[0] ?? 0));
  }

  /** Parses a row. An exception means that another program wrote it, and becomes `ERR_STORE_UNAVAILABLE`. */
  decode<Result>(parse: () => Result): Result {
    try {
      return parse();
    } catch (error) {
      throw fileDamaged(this, error);
    }
  }

  write<Result>(work: () => Result): Result {
    return this.#transaction(() => this.#lock(), work);
  }

  /** Runs `work` on one snapshot, without the write lock; inside a write it sees that transaction. */
  read<Result>(work: () => Result): Result {
    if (this.#open && this.#connection.inTransaction) return work();
    return this.#transaction(() => this.#connection.exec('BEGIN'), work);
  }

  /** From now on, a backup that is copied into the file in place is detected. The tables must be complete. */
  watchContent(): void {
    const version = schemaVersionOf(this.#connection);
    const first = version();
    this.#isSameContent = () => version() === first;
  }

  /** @throws `ERR_STORE_UNAVAILABLE` if the file was removed or replaced, also in place */
  requireSame(): void {
    if (!this.#open) return;
    this.#explained(() => {
      if (!this.#isSameFile() || !this.#isSameContent()) throw fileReplaced(this);
    });
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#statements.clear();
    this.#connection.close();
  }

  #lock(): void {
    this.#connection.exec('PRAGMA busy_timeout = 0');
    try {
      untilFree(() => this.#connection.exec('BEGIN IMMEDIATE'), BUSY_TIMEOUT_MS);
    } finally {
      this.#connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  #transaction<Result>(begin: () => void, work: () => Result): Result {
    return this.#explained(() => {
      if (!this.#isSameFile()) throw fileReplaced(this);
      begin();
      try {
        if (!this.#isSameContent()) throw fileReplaced(this);
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
    // SQLite may have rolled back already, as on a full disk. The first error is the one to report.
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

/** Opens the file; `create` makes a missing one. @throws `ERR_STORE_UNAVAILABLE`, naming the file and the reason */
export async function openSqliteFile(options: SqliteFileOptions): Promise<SqliteFile> {
  const { use = 'power-cut', inspect } = options;
  const name = { path: resolve(options.path), noun: options.noun };
  const connect = await loadSqlite(name);
  try {
    prepareSqliteFile(name, options.create);
    const open = (connection: SqliteConnection): SqliteFile => new SqliteFile(name, connection);
    return open(connect({ use, inspect: (connection) => inspect?.(open(connection)) }));
  } catch (error) {
    throw translateSqliteError(name, error);
  }
}

export interface FileFormat {
  /** Four letters as a 32-bit number. */
  readonly applicationId: number;
  /** Statements that create the tables. A file with other statements is of another build; there is no migration. */
  readonly tables: string;
  /** Completes "is not …": "a journal". */
  readonly kind: string;
  readonly hints: { readonly otherBuild: string; readonly otherFile: string };
}

/** 31 bits of the digest of the table statements, stored as `user_version`. */
const markOf = ({ tables }: FileFormat): number => Number.parseInt(sha256(tables).slice(0, 8), 16) >>> 1;

/** @returns whether the file is still empty. @throws `ERR_STORE_UNAVAILABLE` for a foreign file or another build's */
export function isEmptyFile(file: SqliteFile, format: FileFormat): boolean {
  // One snapshot: another process may fill the file between two reads.
  const [application, mark, pages] = file.read(() =>
    ['application_id', 'user_version', 'page_count'].map((name) => file.number(`PRAGMA ${name}`)),
  );
  const { applicationId, kind, hints } = format;
  if (application === applicationId) {
    if (mark === markOf(format)) return false;
    throw fileUnavailable(file, 'was written by another build of flywheel', { hint: hints.otherBuild });
  }
  if (application === 0 && mark === 0 && (pages ?? 0) <= 1) return true;
  throw fileUnavailable(file, `is not ${kind}`, { hint: hints.otherFile });
}

/**
 * Creates the tables in an empty file.
 * @param fill - writes the first rows in the same commit; runs only for a new file
 * @throws `ERR_STORE_UNAVAILABLE`
 */
export function prepareFile(file: SqliteFile, format: FileFormat, fill: () => void = () => undefined): void {
  if (isEmptyFile(file, format))
    file.write(() => {
      // Another process may have filled it before this one took the lock.
      if (!isEmptyFile(file, format)) return;
      file.exec(
        `${format.tables}\nPRAGMA application_id = ${format.applicationId}; PRAGMA user_version = ${markOf(format)}`,
      );
      fill();
    });
  file.watchContent();
}
