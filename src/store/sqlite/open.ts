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
  loadCommitBeside,
  loadSqlite,
  prepareSqliteFile,
  type SqliteConnection,
} from '../../files/sqlite-connection.js';
import { isBusy } from '../../files/sqlite-errors.js';
import { type Clock, systemClock } from '../../values/time.js';
import { createKyselyStore, ownClock } from '../kysely-store.js';
import { migrate, refuseOtherStore, STORE_VERSION } from '../migrations/index.js';
import type { Store, StoreTransaction } from '../store.js';
import type { Tables } from '../tables.js';
import { kyselyOver, type SqliteDatabase, SqliteDriver } from './driver.js';
import { lockedTooLong, storeClosed, storeName, storeReplaced, toStoreError } from './errors.js';
import { SQLITE_MOVES } from './moves.js';
import { APPLICATION_ID, SQLITE_SCHEMA } from './schema.js';

export interface SqliteStoreOptions {
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

interface Place {
  readonly path: string;
  readonly busyTimeoutMs: number;
  readonly ledgerMark: () => string;
  readonly clock: Clock;
}

const number = (database: SqliteDatabase, pragma: string): number => {
  const [row] = database.prepare(`pragma ${pragma}`).all([]);
  return Number(Object.values(row as object)[0] ?? 0);
};

/** @throws `ERR_STORE_UNAVAILABLE` for a database that another program, or another part of this one, has made. */
function refuseForeign(database: SqliteDatabase, path: string): void {
  const isOurs = (): boolean => number(database, 'application_id') === APPLICATION_ID;
  if (isOurs()) return;
  // One that is being made by another process right now, or was between the two looks.
  if (database.prepare('select 1 from sqlite_master limit 1').all([]).length === 0 || isOurs()) return;
  refuseOtherStore(readVersion(database), path);
  throw new FlywheelError('ERR_STORE_UNAVAILABLE', `${path} is a database, but not a store of flywheel.`, {
    hint: 'Check that --data-dir is right; nothing was written into it.',
  });
}

/** Setting the journal's mode fails at once when another process does the same; so it is tried until it works. */
async function openWriter(connect: Connect, { path, busyTimeoutMs }: Place): Promise<SqliteConnection> {
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

/** The version as it stands in the file, or 0; read without kysely, whose first statement costs more than all of opening. */
function readVersion(database: SqliteDatabase): number {
  const tables = database.prepare("select 1 from sqlite_master where name = 'store_migrations'").all([]);
  if (tables.length === 0) return 0;
  const [row] = database.prepare('select max(version) as version from store_migrations').all([]);
  return Number((row as { version: number | null } | undefined)?.version ?? 0);
}

/** One small read when the store is up to date. */
async function bringUpToDate(db: Kysely<Tables>, database: SqliteDatabase, path: string): Promise<void> {
  const version = readVersion(database);
  refuseOtherStore(version, path);
  if (version < STORE_VERSION) await migrate(db, SQLITE_SCHEMA, path);
}

/** Only tidies up: where it fails, the log stays and loses nothing. */
function foldLog(database: SqliteDatabase, path: string): void {
  try {
    const size = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (size > MAX_LOG_LEFT_BYTES) database.prepare('pragma wal_checkpoint(TRUNCATE)').all([]);
  } catch (error) {
    if (toStoreError(error, path).code !== 'ERR_STORE_UNAVAILABLE') throw error;
  }
}

/** The store over an open writer; its reader is opened at the first read, and reads beside the writer's transactions. */
function storeOver(
  place: Place,
  connect: Connect,
  database: SqliteDatabase,
  writer: { readonly driver: SqliteDriver; readonly db: Kysely<Tables> },
): Store {
  const { path, busyTimeoutMs, ledgerMark, clock } = place;
  const isSameFile = watchFile(path);
  let reader: { readonly driver: SqliteDriver; readonly db: Kysely<Tables> } | undefined;
  let closed = false;
  const openReader = () => {
    if (closed) throw storeClosed(path);
    try {
      const driver = new SqliteDriver({
        database: connect({
          use: 'reader',
          busyTimeoutMs,
          inspect: (connection) => refuseForeign(connection, path),
        }),
        file: path,
        busyTimeoutMs,
        readOnly: true,
      });
      return { driver, db: kyselyOver(driver) };
    } catch (error) {
      throw toStoreError(error, path);
    }
  };
  return createKyselyStore({
    ledgerMark,
    clock: ownClock(clock),
    moves: SQLITE_MOVES,
    check: () => {
      if (!isSameFile()) throw storeReplaced(path);
    },
    writer: () => writer.db,
    isShared: false,
    reader: () => {
      reader ??= openReader();
      return reader.db;
    },
    close: async () => {
      if (closed) return;
      closed = true;
      await reader?.driver.destroy();
      await writer.driver.destroy(() => foldLog(database, path));
    },
  });
}

/**
 * Opens the store, and creates or updates it first when needed. Nothing but one small read is done for a store that is up to
 * date.
 *
 * @throws `ERR_STORE_UNAVAILABLE` when the file is missing, foreign, locked too long, read-only, damaged, or of another build.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { path, busyTimeoutMs = BUSY_TIMEOUT_MS, create = true } = options;
  const connect = await loadSqlite(storeName(path));
  const { ledgerMark = () => '', clock = systemClock } = options;
  const place = { path, busyTimeoutMs, ledgerMark, clock };
  let database: SqliteConnection | undefined;
  try {
    if (create) makeDirectory(dirname(path));
    prepareSqliteFile(storeName(path), create);
    closeToOthers(path);
    database = await openWriter(connect, place);
    const writer = database;
    const commit = await loadCommitBeside();
    const driver = new SqliteDriver({
      ...{ database, file: path, busyTimeoutMs },
      commitBeside: () => commit(writer),
    });
    const db = kyselyOver(driver);
    await bringUpToDate(db, database, path);
    return storeOver(place, connect, database, { driver, db });
  } catch (error) {
    database?.close();
    throw toStoreError(error, path);
  }
}

/**
 * One look into the store as it lies there, of this version or an older one; nothing is written, not even to bring it up to date.
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
    const database = connect({ use: 'reader', inspect: (connection) => refuseForeign(connection, path) });
    const driver = new SqliteDriver({ database, file: path, busyTimeoutMs: BUSY_TIMEOUT_MS, readOnly: true });
    const db = kyselyOver(driver);
    const store = createKyselyStore({
      writer: () => db,
      isShared: false,
      reader: () => db,
      clock: ownClock(systemClock),
      close: () => driver.destroy(),
    });
    try {
      refuseOtherStore(readVersion(database), path);
      return await store.read(look);
    } finally {
      await store.close();
    }
  } catch (error) {
    throw toStoreError(error, path);
  }
}
