/** Opens the store in an SQLite file: its directory, its mode, its settings, its version. */
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
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
import { fileReplaced, isBusy } from '../../files/sqlite-errors.js';
import { type Clock, systemClock } from '../../values/time.js';
import { APPLICATION_ID, FILE_LINEAGE, VERSIONS } from '../ddl.js';
import { lockedTooLong, storeClosed } from '../errors.js';
import {
  APPLIED,
  type Applied,
  EARLIER_BUILD,
  EARLIER_VERSIONS,
  migrate,
  STORE_VERSION,
  versionOf,
} from '../migrations.js';
import { Mutex } from '../mutex.js';
import type { Tables } from '../schema.js';
import { type Begun, createStore, type Store, type StoreTransaction, type Transactions } from '../store.js';
import { asReadError, readerOver, writerOver } from './connection.js';
import { storeName, toStoreError } from './errors.js';

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

const POLL_MS = 5;
/** A log that outgrew this is folded into the file when the store is closed, because the next to open would read it all. */
const MAX_LOG_LEFT_BYTES = 512 * 1_024;

const isThere = (database: SqliteConnection, table: string): boolean =>
  database.prepare(`select 1 from sqlite_master where name = '${table}'`).all([]).length > 0;

/** The migrations as they stand in the file; read without kysely, whose first statement costs more than all of opening. */
const appliedIn = (database: SqliteConnection): readonly Applied[] =>
  isThere(database, VERSIONS) ? (database.prepare(APPLIED).all([]) as readonly Applied[]) : [];

const refuseEarlier = (path: string): never => {
  throw new FlywheelError('ERR_STORE_UNAVAILABLE', `The store ${path} ${EARLIER_BUILD}.`, {
    hint: 'Give another --data-dir, or wipe this one: `flywheel local reset --yes`.',
  });
};

/** The version of the store. @throws `ERR_STORE_UNAVAILABLE` when another build has written it. */
function requireKnown(applied: readonly Applied[], path: string): number {
  const version = versionOf('sqlite', applied) ?? refuseEarlier(path);
  if (version <= STORE_VERSION) return version;
  throw new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    `The store ${path} has version ${version}, but this version of flywheel supports up to ${STORE_VERSION}.`,
    { hint: 'Use the version of flywheel that wrote it, or a newer one.' },
  );
}

/** @throws `ERR_STORE_UNAVAILABLE` for a database that another program, or another part or build of this one, has made. */
function refuseForeign(database: SqliteConnection, path: string): void {
  if (isThere(database, EARLIER_VERSIONS)) refuseEarlier(path);
  const isOurs = (): boolean => {
    const [row] = database.prepare('pragma application_id').all([]);
    return Number(Object.values(row as object)[0] ?? 0) === APPLICATION_ID;
  };
  if (isOurs()) return;
  // One that is being made by another process right now, or was between the two looks.
  if (database.prepare('select 1 from sqlite_master limit 1').all([]).length === 0 || isOurs()) return;
  throw new FlywheelError('ERR_STORE_UNAVAILABLE', `${path} is a database, but not a store of flywheel.`, {
    hint: 'Check that --data-dir is right; nothing was written into it.',
  });
}

/** Setting the journal's mode fails at once when another process does the same; so it is tried until it works. */
async function openWriter(connect: Connect, path: string, busyTimeoutMs: number): Promise<SqliteConnection> {
  const startMs = performance.now();
  for (;;) {
    try {
      return connect({
        use: 'power-cut',
        busyTimeoutMs: 0,
        foreignKeys: true,
        inspect: (connection) => refuseForeign(connection, path),
      });
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() - startMs >= busyTimeoutMs)
        throw lockedTooLong(path, busyTimeoutMs, 'another process', error);
    }
    await delay(POLL_MS);
  }
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
  /** @throws when the file must not be used any more. */
  readonly check: () => void;
}

/** Reads beside the transactions of a writer, each of one state; the connection is opened by the first. */
function readsOf({ path, busyTimeoutMs, clock, check }: Place, connect: Connect) {
  let connection: SqliteConnection | undefined;
  let db: Kysely<Tables> | undefined;
  const turns = new Mutex(busyTimeoutMs, () =>
    lockedTooLong(path, busyTimeoutMs, 'another read of this process'),
  );
  const open = (): Kysely<Tables> => {
    try {
      connection = connect({ use: 'reader', busyTimeoutMs, inspect: (own) => refuseForeign(own, path) });
      requireKnown(appliedIn(connection), path);
      return readerOver(connection, { file: path, busyTimeoutMs });
    } catch (error) {
      throw toStoreError(error, path);
    }
  };
  const read: Transactions['read'] = async (work) => {
    check();
    db ??= open();
    const reader = db.transaction();
    try {
      return await turns.run(() =>
        reader.execute((trx) => work({ db: trx, database: 'sqlite' }, begunAt(clock))),
      );
    } catch (error) {
      throw asReadError(error);
    }
  };
  return { read, close: (): void => void connection?.close() };
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
  let database: SqliteConnection | undefined;
  try {
    if (create) makeDirectory(dirname(path));
    prepareSqliteFile(storeName(path), create);
    closeToOthers(path);
    database = await openWriter(connect, path, busyTimeoutMs);
    const db = writerOver(database, { file: path, busyTimeoutMs });
    const check = (applied: readonly Applied[]): number => requireKnown(applied, path);
    if (check(appliedIn(database)) < STORE_VERSION)
      await db.transaction().execute((trx) => migrate(trx, 'sqlite', check));
    const writer = database;
    const isSameFile = watchFile(path);
    const turns = new Mutex(busyTimeoutMs, () =>
      lockedTooLong(path, busyTimeoutMs, 'another transaction of this process'),
    );
    let isClosed = false;
    const checkFile = (): void => {
      if (isClosed) throw storeClosed(path);
      if (!isSameFile()) throw fileReplaced(storeName(path));
    };
    const reads = readsOf({ path, busyTimeoutMs, clock, check: checkFile }, connect);
    return createStore(
      {
        async write(work) {
          checkFile();
          return turns.run(() =>
            db.transaction().execute((trx) => work({ db: trx, database: 'sqlite' }, begunAt(clock))),
          );
        },
        read: reads.read,
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
  try {
    prepareSqliteFile(storeName(path), false);
  } catch (error) {
    throw toStoreError(error, path);
  }
  const place = { path, busyTimeoutMs: BUSY_TIMEOUT_MS, clock: systemClock, check: () => undefined };
  const { read, close } = readsOf(place, connect);
  const store = createStore(
    { read, write: refuseToWrite, latestMs: () => systemClock.nowMs(), close: async () => close() },
    () => '',
  );
  try {
    return await store.read(look);
  } finally {
    await store.close();
  }
}

const refuseToWrite = (): never => {
  throw new FlywheelError('ERR_INTERNAL', 'A look into the store tried to write.');
};
