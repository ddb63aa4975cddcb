/** Opens the store in an SQLite file: its directory, its mode, its settings, its version. */
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Kysely } from 'kysely';
import { FlywheelError } from '../../errors/flywheel-error.js';
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
import { fileReplaced } from '../../files/sqlite-errors.js';
import { type Clock, systemClock } from '../../values/time.js';
import { APPLICATION_ID, FILE_LINEAGE, VERSIONS } from '../ddl.js';
import { lockedTooLong, storeClosed, storeUnavailable } from '../errors.js';
import {
  APPLIED,
  type Applied,
  migrate,
  OTHER_BUILD,
  type Refuse,
  requireKnown,
  STORE_VERSION,
  versionOf,
} from '../migrations.js';
import { Mutex } from '../mutex.js';
import type { Tables } from '../schema.js';
import type { Session } from '../session.js';
import {
  type Begun,
  createStore,
  type Store,
  type StoreTransaction,
  type Transactions,
  transactionOver,
} from '../store.js';
import { asReadError, kyselyOver, storeName, toStoreError, whenFree } from './connection.js';

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
  (what, hint = 'Give another --data-dir, or wipe this one: `flywheel local reset --yes`.') =>
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
    hint: 'Check that --data-dir is right; nothing was written into it.',
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
  return <Result>(work: (session: Session, begun: Begun) => Promise<Result>): Promise<Result> =>
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
