/** What the store adds to what any SQLite file can fail with. */
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import {
  fileReplaced,
  fileUnavailable,
  isRefusedRow,
  translateSqliteError,
} from '../../files/sqlite-errors.js';

/** What messages call the file. */
export const storeName = (path: string) => ({ path, noun: 'store' });

/**
 * What was thrown, as `ERR_STORE_UNAVAILABLE` where the store is at fault and `ERR_INTERNAL` where a statement is; an error of
 * the program stays as it is.
 */
export function toStoreError(error: unknown, file: string): FlywheelError {
  const translated = translateSqliteError(storeName(file), error);
  if (isFlywheelError(translated)) return translated;
  const sentence = isRefusedRow(error)
    ? 'The store refused a record that breaks one of its rules.'
    : 'The store could not run a statement.';
  return new FlywheelError('ERR_INTERNAL', sentence, { cause: error });
}

/** The write lock was not to be had in time. */
export const lockedTooLong = (file: string, waitedMs: number, by: string, cause?: unknown): FlywheelError =>
  fileUnavailable(
    storeName(file),
    `is locked by ${by}; gave up after ${(waitedMs / 1_000).toLocaleString('en')} s`,
    { hint: 'Wait until the other work on it is done, or stop it, then run again.', cause },
  );

export const storeClosed = (file: string): FlywheelError =>
  fileUnavailable(storeName(file), 'is closed', { hint: 'Run again; the process was shutting down.' });

/** Somebody has removed the file, or put another in its place, while it was open. */
export const storeReplaced = (file: string): FlywheelError => fileReplaced(storeName(file));
