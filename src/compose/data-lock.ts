/**
 * Who uses a data directory. Every process that works in it holds a shared lock for as long as it does; wiping it takes the
 * exclusive one. The lock is SQLite's own on an empty database, so the system lets go of it however a process ends.
 */
import { FlywheelError } from '../errors/flywheel-error.js';
import { loadSqlite, prepareSqliteFile } from '../files/sqlite-connection.js';

/** A lock that is held. */
export interface DataLock {
  release(): void;
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
    return { release: () => void connection.close() };
  } catch (cause) {
    throw new FlywheelError('ERR_STORE_UNAVAILABLE', `${path}: ${refusal}.`, {
      hint: 'Wait until the other flywheel processes are done, or stop them, then run again.',
      cause,
    });
  }
}

/** For working in the directory. @throws `ERR_STORE_UNAVAILABLE` while it is being wiped. */
export const shareDataDirectory = (path: string): Promise<DataLock> =>
  take(path, 'begin', 'the data directory is being wiped, or its lock cannot be used');

/** For wiping it. @throws `ERR_STORE_UNAVAILABLE` while any other process works in it. */
export const ownDataDirectory = (path: string): Promise<DataLock> =>
  take(path, 'begin exclusive', 'the data directory is in use by another flywheel process');
