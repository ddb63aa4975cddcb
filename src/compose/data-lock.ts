/**
 * Who uses a data directory. Every process that works in it holds a shared lock for as long as it does; wiping it takes the
 * exclusive one. The lock is SQLite's own on an empty database, so the system lets go of it however a process ends.
 */
import { closeSync, openSync } from 'node:fs';
import { FlywheelError } from '../errors/flywheel-error.js';

/** A lock that is held. */
export interface DataLock {
  release(): void;
}

const OWNER_ONLY = 0o600;

async function take(path: string, begin: string, refusal: string): Promise<DataLock> {
  const { default: Database } = await import('libsql');
  try {
    closeSync(openSync(path, 'a', OWNER_ONLY));
    const database = new Database(path, { timeout: 0 });
    try {
      database.exec(begin);
      // A read transaction takes its lock with its first read.
      database.prepare('select count(*) from sqlite_master').get();
    } catch (error) {
      database.close();
      throw error;
    }
    return { release: () => void database.close() };
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
