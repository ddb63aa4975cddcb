/** The one way to a database file: the driver, the file and its mode, and the settings that decide what outlives what. */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { arch, platform } from 'node:os';
import type Libsql from 'libsql';
import { type FileName, fileUnavailable, isBusy } from './sqlite-errors.js';

/** An open database; its failures are those of the driver (`sqlite-errors.ts`). */
export type SqliteConnection = Libsql.Database;

/** How a connection uses its file. */
export interface ConnectionOptions {
  /**
   * What a commit outlives: a cut of the power, or only the end of the process, for which it need not wait for the disk.
   * `reader` writes nothing. `bare` leaves the file as SQLite makes it, where only its locks are of interest.
   */
  readonly use: 'power-cut' | 'process-end' | 'reader' | 'bare';
  /** For how long SQLite waits for a lock, and with it the whole process. @default 5000 */
  readonly busyTimeoutMs?: number;
  /** Are references between tables held to? @default false */
  readonly foreignKeys?: boolean;
  /** Looks at the database before anything is written into it. @throws when it must not be touched. */
  readonly inspect?: (connection: SqliteConnection) => void;
}

/** How long a writer waits for another process to finish, unless said otherwise. */
export const BUSY_TIMEOUT_MS = 5_000;
/** Between two tries to get a lock. SQLite itself waits a hundred times as long, and a busy neighbour leaves only short gaps. */
const POLL_MS = 1;
/** Only the owner reads and writes a file. SQLite gives the files beside it the same mode. */
const FILE_MODE = 0o600;
const OTHERS_MODE = 0o077;

/** WAL: readers never wait for the writer. */
const WAL = 'journal_mode = WAL';

/** macOS leaves what was synced in the cache of the drive unless it is asked for a full sync; elsewhere that changes nothing. */
const SETTINGS: Readonly<Record<ConnectionOptions['use'], readonly string[]>> = {
  'power-cut': [WAL, 'synchronous = FULL', 'fullfsync = 1', 'checkpoint_fullfsync = 1'],
  // Only where the log is folded in is the disk waited for: seldom, since little is written at a time, and nobody misses the log.
  'process-end': ['page_size = 512', WAL, 'synchronous = NORMAL', 'wal_autocheckpoint = 8000'],
  reader: ['query_only = 1'],
  bare: [],
};

/** Opens connections to a file, as many as are needed. */
export type Connect = (options: ConnectionOptions) => SqliteConnection;

/** @throws `ERR_STORE_UNAVAILABLE` where the driver is not installed; connecting fails with the error of the driver. */
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
      // Of two that make a file at once SQLite tells one that it is locked, and does not wait.
      for (const setting of [...SETTINGS[use], ...(foreignKeys ? ['foreign_keys = 1'] : [])])
        untilFree(() => connection.exec(`PRAGMA ${setting}`), busyTimeoutMs);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  };
}

/** Holds this thread up, as waiting for a lock inside SQLite does. */
const holdUp = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Runs what needs a lock until nobody else has it. @throws its last failure, once the time is over or it is another one. */
export function untilFree(work: () => void, timeoutMs: number): void {
  const startMs = performance.now();
  for (;;) {
    try {
      work();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() - startMs >= timeoutMs) throw error;
      holdUp(POLL_MS);
    }
  }
}

/** Takes from others what they may do with a file. */
export function closeToOthers(path: string): void {
  if ((statSync(path).mode & OTHERS_MODE) !== 0) chmodSync(path, FILE_MODE);
}

/**
 * Makes the file when it is missing, for this user only.
 * @param create - where there should be one, a new and empty one would hide the loss.
 * @throws `ERR_STORE_UNAVAILABLE` for one that should be there; the system's error.
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
