/** The store in an SQLite file: its directory, its mode, its settings, its version, and what kysely is given for it. */

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
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
import { makeDirectory } from '../../files/directories.js';
import { watchFile } from '../../files/read-file.js';
import {
  BUSY_TIMEOUT_MS,
  type Connect,
  closeToOthers,
  loadSqlite,
  prepareSqliteFile,
  type SqliteConnection,
} from '../../files/sqlite-connection.js';
import {
  fileReplaced,
  isBusy,
  isReadOnly,
  isRefusedRow,
  translateSqliteError,
} from '../../files/sqlite-errors.js';
import { type Clock, systemClock } from '../../values/time.js';
import { toCell } from '../columns.js';
import {
  APPLICATION_ID,
  APPLIED,
  type Applied,
  FILE_LINEAGE,
  migrate,
  OTHER_BUILD,
  type Refuse,
  requireKnown,
  STORE_VERSION,
  VERSIONS,
  versionOf,
} from '../ddl.js';
import { lockedTooLong, statementFailed, storeClosed, storeUnavailable } from '../errors.js';
import { Mutex } from '../mutex.js';
import type { Tables } from '../schema.js';
import { RecordPlugin, type StoreSession } from '../session.js';
import {
  type Begun,
  createStore,
  type Store,
  type StoreTransaction,
  type Transactions,
  transactionOver,
} from '../store.js';

/** What messages call the file. */
const storeName = (path: string) => ({ path, noun: 'store' });

/**
 * What was thrown, as `ERR_STORE_UNAVAILABLE` where the store is at fault and `ERR_INTERNAL` where a statement is; an error of
 * the program stays as it is.
 */
function toStoreError(error: unknown, file: string): FlywheelError {
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
async function whenFree<Result>({ file, busyTimeoutMs }: SqliteTerms, work: () => Result): Promise<Result> {
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
function kyselyOver(
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
function asReadError(error: unknown): unknown {
  if (!(error instanceof FlywheelError) || !isReadOnly(error.cause)) return error;
  return new FlywheelError('ERR_INTERNAL', 'A read of the store tried to write.', { cause: error });
}

interface SqliteStoreOptions {
  /** The file; it and its directory are for this user only. */
  readonly path: string;
  /** Make the file when it is missing. Where there should be one, a new and empty one would hide the loss. @default true */
  readonly create?: boolean;
  /** For how long to wait for a lock. @default 5000 */
  readonly busyTimeoutMs?: number;
  /** Names the newest block of the ledger that this process has seen, as text that is greater for later ones. @default none */
  readonly ledgerMark?: () => string;
  /** The time of the store is that of who has opened it. @default the system's */
  readonly clock?: Clock;
}

/** A log that outgrew this is folded into the file when the store is closed, because the next to open would read it all. */
const MAX_LOG_LEFT_BYTES = 512 * 1_024;

const isThere = (database: SqliteConnection, table: string): boolean =>
  database.prepare(`select 1 from sqlite_master where name = '${table}'`).all([]).length > 0;

/** The migrations as they stand in the file; read without kysely, whose first statement costs more than all of opening. */
const appliedIn = (database: SqliteConnection): readonly Applied[] =>
  isThere(database, VERSIONS) ? (database.prepare(APPLIED).all([]) as readonly Applied[]) : [];

const refusalOf =
  (path: string): Refuse =>
  (what, hint = 'Use another --data-dir, or delete this one and its keys: `flywheel local reset`.') =>
    storeUnavailable(path, what, { hint });

/** The version of the store. @throws `ERR_STORE_UNAVAILABLE` when another build has written it. */
const versionIn = (database: SqliteConnection, refuse: Refuse): number =>
  requireKnown(versionOf('sqlite', appliedIn(database), refuse), refuse);

/** @throws `ERR_STORE_UNAVAILABLE` for a database that another program, or another part or build of this one, has made. */
function refuseForeign(database: SqliteConnection, path: string): void {
  const isOurs = (): boolean => {
    const [row] = database.prepare('pragma application_id').all([]);
    return Number(Object.values(row as object)[0] ?? 0) === APPLICATION_ID;
  };
  if (isOurs()) {
    if (!isThere(database, VERSIONS)) throw refusalOf(path)(OTHER_BUILD);
    return;
  }
  // One that is being made by another process right now, or was between the two looks.
  if (database.prepare('select 1 from sqlite_master limit 1').all([]).length === 0 || isOurs()) return;
  throw new FlywheelError('ERR_STORE_UNAVAILABLE', `${path} is a database, but not a store of flywheel.`, {
    hint: 'Nothing was written. Check --data-dir.',
  });
}

/** Only tidies up: where it fails, the log stays and loses nothing. */
function foldLog(database: SqliteConnection, path: string): void {
  try {
    const size = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (size > MAX_LOG_LEFT_BYTES) database.prepare('pragma wal_checkpoint(TRUNCATE)').all([]);
  } catch (error) {
    if (toStoreError(error, path).code !== 'ERR_STORE_UNAVAILABLE') throw error;
  }
}

/** The time of a file is that of this process; one that is replaced under it is noticed by who has it open. */
const begunAt = (clock: Clock): Begun => ({ nowMs: clock.nowMs(), copy: '', lineage: FILE_LINEAGE });

interface Place {
  readonly path: string;
  readonly busyTimeoutMs: number;
  readonly clock: Clock;
}

/** The transactions of a kysely one after the other. */
function oneAtATime(db: Kysely<Tables>, { path, busyTimeoutMs, clock }: Place, what: string) {
  const mutex = new Mutex(busyTimeoutMs, () =>
    lockedTooLong(path, busyTimeoutMs, `another ${what} of this process`),
  );
  return <Result>(work: (session: StoreSession, begun: Begun) => Promise<Result>): Promise<Result> =>
    mutex.run(() => db.transaction().execute((trx) => work({ db: trx, database: 'sqlite' }, begunAt(clock))));
}

/** Reads beside the transactions of a writer, each of one state; the connection is opened by the first. */
function readsOf(place: Place, connect: Connect): Pick<Transactions, 'read'> & { close(): void } {
  const { path, busyTimeoutMs } = place;
  let connection: SqliteConnection | undefined;
  const open = (): Transactions['read'] => {
    try {
      prepareSqliteFile(storeName(path), false);
      connection = connect({ use: 'reader', busyTimeoutMs, inspect: (own) => refuseForeign(own, path) });
      versionIn(connection, refusalOf(path));
      return oneAtATime(kyselyOver(connection, { file: path, busyTimeoutMs }, 'begin'), place, 'read');
    } catch (error) {
      throw toStoreError(error, path);
    }
  };
  let run: Transactions['read'] | undefined;
  return {
    read: async (work) => {
      run ??= open();
      return run(work).catch((error: unknown) => {
        throw asReadError(error);
      });
    },
    close: () => void connection?.close(),
  };
}

/**
 * Opens the store, and makes it first when needed. Nothing but one small read is done for a store that is up to date.
 *
 * @throws `ERR_STORE_UNAVAILABLE` when the file is missing, foreign, locked too long, read-only, damaged, or of another build.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { path, busyTimeoutMs = BUSY_TIMEOUT_MS, create = true } = options;
  const { ledgerMark = () => '', clock = systemClock } = options;
  const connect = await loadSqlite(storeName(path));
  const terms = { file: path, busyTimeoutMs };
  let database: SqliteConnection | undefined;
  try {
    if (create) makeDirectory(dirname(path));
    prepareSqliteFile(storeName(path), create);
    closeToOthers(path);
    // Setting the journal's mode fails at once when another process does the same.
    const writer = await whenFree(terms, () =>
      connect({
        ...{ use: 'power-cut', busyTimeoutMs: 0, foreignKeys: true },
        inspect: (connection) => refuseForeign(connection, path),
      }),
    );
    database = writer;
    const db = kyselyOver(writer, terms, 'begin immediate');
    const refuse = refusalOf(path);
    if (versionIn(writer, refuse) < STORE_VERSION)
      await db.transaction().execute((trx) => migrate(trx, 'sqlite', refuse));
    const isSameFile = watchFile(path);
    let isClosed = false;
    const checkFile = (): void => {
      if (isClosed) throw storeClosed(path);
      if (!isSameFile()) throw fileReplaced(storeName(path));
    };
    const place = { path, busyTimeoutMs, clock };
    const write = oneAtATime(db, place, 'transaction');
    const reads = readsOf(place, connect);
    return createStore(
      {
        async write(work) {
          checkFile();
          return write(work);
        },
        async read(work) {
          checkFile();
          return reads.read(work);
        },
        latestMs: () => clock.nowMs(),
        async close(ended) {
          if (isClosed) return;
          isClosed = true;
          await ended;
          reads.close();
          foldLog(writer, path);
          writer.close();
        },
      },
      ledgerMark,
    );
  } catch (error) {
    database?.close();
    throw toStoreError(error, path);
  }
}

/**
 * One look into the store as it lies there; nothing is written.
 *
 * @throws as {@link openSqliteStore}.
 */
export async function lookIntoSqliteStore<Found>(
  path: string,
  look: (tx: StoreTransaction) => Promise<Found>,
): Promise<Found> {
  const connect = await loadSqlite(storeName(path));
  const place = { path, busyTimeoutMs: BUSY_TIMEOUT_MS, clock: systemClock };
  const { read, close } = readsOf(place, connect);
  try {
    return await read((session, begun) => look(transactionOver(session, begun)));
  } finally {
    close();
  }
}
