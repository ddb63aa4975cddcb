/**
 * Locks of a data directory: shared while a process works in it, exclusive to delete it, reserved to set it up. They are SQLite's own
 * locks on an empty database, so the system releases them however a process ends.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { FlywheelError } from '../errors/flywheel-error.js';
import { loadSqlite, prepareSqliteFile, type SqliteConnection } from '../files/sqlite-connection.js';
import { isBusy } from '../files/sqlite-errors.js';

/** A set-up takes a fraction of a second, or a few seconds on a busy machine. */
const SET_UP_WAIT_MS = 10_000;
const POLL_MS = 20;

interface DataLock {
  close(): void;
}

async function take(path: string, begin: string, use = 'copies, sets up or deletes'): Promise<DataLock> {
  const name = { path, noun: 'lock' };
  const connect = await loadSqlite(name);
  let held: SqliteConnection | undefined;
  try {
    prepareSqliteFile(name, true);
    held = connect({ use: 'bare', busyTimeoutMs: 0 });
    held.exec(begin);
    // A read transaction takes its lock with its first read.
    held.prepare('select count(*) from sqlite_master').get();
    return {
      close() {
        // The driver keeps a closed connection's locks until its statements are collected.
        held?.exec('rollback');
        held?.close();
        held = undefined;
      },
    };
  } catch (cause) {
    held?.close();
    const refusal = isBusy(cause)
      ? `another flywheel process ${use} the data directory`
      : 'the lock file cannot be used';
    throw new FlywheelError('ERR_STORE_UNAVAILABLE', `${path}: ${refusal}.`, {
      hint: 'Stop the other flywheel processes, or wait until they end. Then run the command again.',
      cause,
    });
  }
}

/** @throws `ERR_STORE_UNAVAILABLE` while the directory is being deleted */
export const shareDataDirectory = (path: string): Promise<DataLock> => take(path, 'begin');

/** For deleting the directory. @throws `ERR_STORE_UNAVAILABLE` while any other process works in it */
export const ownDataDirectory = (path: string): Promise<DataLock> => take(path, 'begin exclusive', 'uses');

/**
 * For setting the directory up while others may work in it. Waits for another set-up to finish.
 * @throws `ERR_STORE_UNAVAILABLE` after {@link SET_UP_WAIT_MS}, or while the directory is being deleted
 */
export async function setUpDataDirectory(path: string): Promise<DataLock> {
  const startMs = performance.now();
  for (;;) {
    try {
      // SQLite allows one reserved lock beside any number of shared ones.
      return await take(path, 'begin immediate');
    } catch (error) {
      if (!isBusy((error as Error).cause) || performance.now() - startMs >= SET_UP_WAIT_MS) throw error;
    }
    await delay(POLL_MS);
  }
}
