/** One connection to an SQLite file that is used at once: its statements, its transactions, its errors; not what is in it. */
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
  untilFree,
} from './sqlite-connection.js';
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

interface SqliteFileOptions extends FileName, Pick<ConnectionOptions, 'busyTimeoutMs'> {
  /** @default `power-cut` */
  readonly use?: Exclude<ConnectionOptions['use'], 'bare'>;
  readonly create: boolean;
  /** Looks at the file before anything is written into it. @throws when it must not be touched. */
  readonly inspect?: (database: SqliteFile) => void;
}

/** Statements that are kept prepared. */
const MAX_STATEMENTS = 64;

/** A connection whose every failure names the file. */
export class SqliteFile {
  readonly path: string;
  readonly noun: string;
  readonly #connection: SqliteConnection;
  readonly #isSameFile: () => boolean;
  readonly #busyTimeoutMs: number;
  readonly #statements = new Map<string, Statement>();
  #open = true;

  constructor(
    { path, noun, busyTimeoutMs = BUSY_TIMEOUT_MS }: Omit<SqliteFileOptions, 'create' | 'inspect'>,
    connection: SqliteConnection,
  ) {
    this.#busyTimeoutMs = busyTimeoutMs;
    this.path = path;
    this.noun = noun;
    this.#connection = connection;
    this.#isSameFile = watchFile(path);
  }

  exec(sql: string): void {
    this.#explained(() => this.#connection.exec(sql));
  }

  /** The same text gives the same statement. */
  prepare(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const made = this.#explained(() => this.#connection.prepare<SqlValue[]>(sql));
    if (made.reader) made.raw();
    // The driver takes one list for all parameters, which its types do not say.
    const statement = made as unknown as Statement;
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    this.#statements.set(sql, statement);
    return statement;
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
    return this.#transaction(() => this.#lock(), work);
  }

  /** Runs `work` on one state of the file, without a lock that others would wait for; within a write, on that of the write. */
  read<Result>(work: () => Result): Result {
    if (this.#open && this.#connection.inTransaction) return work();
    return this.#transaction(() => this.#connection.exec('BEGIN'), work);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#statements.clear();
    this.#connection.close();
  }

  #lock(): void {
    // SQLite itself would wait for too long between two tries.
    this.#connection.exec('PRAGMA busy_timeout = 0');
    try {
      untilFree(() => this.#connection.exec('BEGIN IMMEDIATE'), this.#busyTimeoutMs);
    } finally {
      this.#connection.exec(`PRAGMA busy_timeout = ${this.#busyTimeoutMs}`);
    }
  }

  #transaction<Result>(begin: () => void, work: () => Result): Result {
    return this.#explained(() => {
      if (!this.#isSameFile()) throw fileReplaced(this);
      begin();
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

/**
 * Opens the file, making it if it is not there.
 * @throws `ERR_STORE_UNAVAILABLE` naming the file and why it cannot be used.
 */
export async function openSqliteFile(options: SqliteFileOptions): Promise<SqliteFile> {
  const { use = 'power-cut', inspect } = options;
  const name = { path: resolve(options.path), noun: options.noun };
  const connect = await loadSqlite(name);
  try {
    prepareSqliteFile(name, options.create);
    const open = (connection: SqliteConnection): SqliteFile =>
      new SqliteFile({ ...options, ...name }, connection);
    return open(connect({ ...options, use, inspect: (connection) => inspect?.(open(connection)) }));
  } catch (error) {
    throw translateSqliteError(name, error);
  }
}

/** How a build knows its own files. */
export interface FileFormat {
  /** Marks files of this kind: four letters as a 32-bit number. */
  readonly applicationId: number;
  /** The statements that make them. A file whose tables are made by others is of another build, and there is no way from one to the other. */
  readonly tables: string;
  /** What the file should be: "a journal". */
  readonly kind: string;
  /** What to do with the file of another build, and with one that is something else. */
  readonly hints: { readonly otherBuild: string; readonly otherFile: string };
}

/** What tells the tables of one build from those of another in a file: 31 bits of their digest. */
const markOf = ({ tables }: FileFormat): number => Number.parseInt(sha256(tables).slice(0, 8), 16) >>> 1;

/** Refuses a file that this build must not touch. @returns whether it still has to be filled. */
export function isEmptyFile(file: SqliteFile, format: FileFormat): boolean {
  // Of one state of the file: it may be filled by another process between two looks.
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
 * Makes sure that the file holds its tables.
 * @param fill - writes the first rows in the same commit; runs only for a new file.
 * @throws `ERR_STORE_UNAVAILABLE`
 */
export function prepareFile(file: SqliteFile, format: FileFormat, fill: () => void = () => undefined): void {
  if (!isEmptyFile(file, format)) return;
  file.write(() => {
    // Another process may have filled it between the look and the lock.
    if (!isEmptyFile(file, format)) return;
    file.exec(
      `${format.tables}\nPRAGMA application_id = ${format.applicationId}; PRAGMA user_version = ${markOf(format)}`,
    );
    fill();
  });
}
