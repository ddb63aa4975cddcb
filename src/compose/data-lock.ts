/**
 * Who uses a data directory. Every process that works in it holds a shared lock for as long as it does; wiping it takes the
 * exclusive one, and one process at a time sets it up, which it also works in. The lock is SQLite's own on an empty database, so the
 * system lets go of it however a process ends.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { FlywheelError } from '../errors/flywheel-error.js';
import { loadSqlite, prepareSqliteFile } from '../files/sqlite-connection.js';
import { isBusy } from '../files/sqlite-errors.js';

/** A set-up takes a part of a second, on a machine that is busy some. */
const SET_UP_WAIT_MS = 10_000;
const POLL_MS = 20;
const SET_UP_REFUSAL =
  'another flywheel process is creating or deleting the data directory, or the lock file cannot be used';

interface DataLock {
  close(): void;
}

async function take(path: string, begin: string, refusal: string): Promise<DataLock> {
  const name = { path, noun: 'lock' };
  const connect = await loadSqlite(name);
  try {
    prepareSqliteFile(name, true);
    const connection = connect({ use: 'bare', busyTimeoutMs: 0 });
    try {
      connection.exec(begin);
      // A read transaction takes its lock with its first read.
      connection.prepare('select count(*) from sqlite_master').get();
    } catch (error) {
      connection.close();
      throw error;
    }
    let isHeld = true;
    const close = (): void => {
      if (!isHeld) return;
      isHeld = false;
      // The driver keeps what is open of a closed connection until its statements are collected.
      connection.exec('rollback');
      connection.close();
    };
    return { close };
  } catch (cause) {
    throw new FlywheelError('ERR_STORE_UNAVAILABLE', `${path}: ${refusal}.`, {
      hint: 'Stop the other flywheel processes, or wait until they end. Then run the command again.',
      cause,
    });
  }
}

/** For working in the directory. @throws `ERR_STORE_UNAVAILABLE` while it is being wiped. */
export const shareDataDirectory = (path: string): Promise<DataLock> =>
  take(
    path,
    'begin',
    'another flywheel process is deleting the data directory, or the lock file cannot be used',
  );

/** For wiping it. @throws `ERR_STORE_UNAVAILABLE` while any other process works in it. */
export const ownDataDirectory = (path: string): Promise<DataLock> =>
  take(path, 'begin exclusive', 'another flywheel process uses the data directory');

/**
 * For setting it up, which others may work in meanwhile. Whoever does that already is waited for: what it has made is there then.
 * @throws `ERR_STORE_UNAVAILABLE` where that takes too long, or while the directory is being wiped.
 */
export async function setUpDataDirectory(path: string, waitMs = SET_UP_WAIT_MS): Promise<DataLock> {
  const startMs = performance.now();
  for (;;) {
    try {
      // SQLite lets one hold this beside any number that read.
      return await take(path, 'begin immediate', SET_UP_REFUSAL);
    } catch (error) {
      if (!isBusy((error as Error).cause) || performance.now() - startMs >= waitMs) throw error;
    }
    await delay(POLL_MS);
  }
}
