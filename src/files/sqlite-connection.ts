/** Opens SQLite files: driver, permissions, and durability settings. */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { arch, platform } from 'node:os';
import type Libsql from 'libsql';
import { type FileName, fileUnavailable, isBusy } from './sqlite-errors.js';

/** Throws the driver's errors (`sqlite-errors.ts`). */
export type SqliteConnection = Libsql.Database;

export interface ConnectionOptions {
  /** Commits survive a `power-cut`. A `reader` writes nothing. `bare` leaves the file's settings alone, for files that serve as locks. */
  readonly use: 'power-cut' | 'reader' | 'bare';
  /** How long SQLite waits for a lock, blocking the process. @default 5000 */
  readonly busyTimeoutMs?: number;
  readonly foreignKeys?: boolean;
  /** Checks the database before anything is written. @throws if it must not be used */
  readonly inspect?: (connection: SqliteConnection) => void;
}

export const BUSY_TIMEOUT_MS = 5_000;
/** Pause between attempts to take a lock. SQLite's own pauses grow to 100 ms, and a busy process leaves only short gaps. */
const POLL_MS = 1;
/** SQLite creates the -wal and -shm files with the same mode. */
const FILE_MODE = 0o600;
const OTHERS_MODE = 0o077;

/**
 * WAL: readers never wait for the writer. fullfsync: on macOS fsync leaves data in the drive's cache; elsewhere the setting has no
 * effect.
 */
const SETTINGS: Readonly<Record<ConnectionOptions['use'], readonly string[]>> = {
  'power-cut': ['journal_mode = WAL', 'synchronous = FULL', 'fullfsync = 1', 'checkpoint_fullfsync = 1'],
  reader: ['query_only = 1'],
  bare: [],
};

export type Connect = (options: ConnectionOptions) => SqliteConnection;

/** @throws `ERR_STORE_UNAVAILABLE` if the driver is not installed; {@link Connect} throws the driver's errors */
export async function loadSqlite(name: FileName): Promise<Connect> {
  const { default: Database } = await import('libsql').catch((cause: unknown) => {
    const what = `cannot be opened: the SQLite driver for ${platform()} ${arch()} is not installed`;
    throw fileUnavailable(name, what, {
      hint: 'Install flywheel again without --omit=optional.',
      cause,
    });
  });
  return ({ use, busyTimeoutMs = BUSY_TIMEOUT_MS, foreignKeys = false, inspect }) => {
    const connection = new Database(name.path, { timeout: busyTimeoutMs });
    try {
      inspect?.(connection);
      // When two processes create a file at once, SQLite reports it as locked to one of them without waiting.
      for (const setting of [...SETTINGS[use], ...(foreignKeys ? ['foreign_keys = 1'] : [])])
        untilFree(() => connection.exec(`PRAGMA ${setting}`), busyTimeoutMs);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  };
}

/** Retries `work` while the database is locked. @throws its last error after `timeoutMs`, any other error at once */
export function untilFree(work: () => void, timeoutMs: number): void {
  const startMs = performance.now();
  for (;;) {
    try {
      work();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() - startMs >= timeoutMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
    }
  }
}

/**
 * Reads the schema version. SQLite raises it when a backup is copied into the file in place (`.restore` of sqlite3), which keeps the
 * inode. Otherwise only creating the tables changes it.
 */
export function schemaVersionOf(connection: SqliteConnection): () => number {
  const statement = connection.prepare('PRAGMA schema_version').raw();
  return () => Number((statement.get([]) as readonly unknown[])[0]);
}

export function closeToOthers(path: string): void {
  if ((statSync(path).mode & OTHERS_MODE) !== 0) chmodSync(path, FILE_MODE);
}

/**
 * Creates a missing file with mode 0600.
 * @param create - `false` where the file must exist: a new, empty one would hide the loss
 * @throws `ERR_STORE_UNAVAILABLE` for a missing or empty file that must exist; the system's error
 */
export function prepareSqliteFile(name: FileName, create: boolean): void {
  const stats = statSync(name.path, { throwIfNoEntry: false });
  if (!create && !stats?.size) {
    throw fileUnavailable(name, stats === undefined ? 'is missing' : 'is empty', {
      hint: 'Nothing was written. Restore store.db and ledger.db together from one backup.',
    });
  }
  if (stats === undefined) closeSync(openSync(name.path, 'a', FILE_MODE));
}
