/** Whatever SQLite or the file system throws → an error of the house that names the file and the reason. */
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';

interface Reason {
  /** Completes "The store FILE …". */
  readonly is: string;
  readonly hint: string;
}

const READ_ONLY: Reason = {
  is: 'is read-only for this user',
  hint: 'Give the user of this process write access to the file and its directory, or choose another --data-dir.',
};
const FULL: Reason = {
  is: 'cannot grow: the disk is full',
  hint: 'Free space on the disk, then run again; what was written before is intact.',
};
const DAMAGED: Reason = {
  is: 'is damaged',
  hint: 'Stop all flywheel processes, keep a copy of the file, and restore it from a backup.',
};

/** By SQLite's result code (https://www.sqlite.org/rescode.html); an extended code falls back to its first two words. */
const BY_RESULT: Readonly<Record<string, Reason>> = {
  SQLITE_BUSY: {
    is: 'is locked by another process',
    hint: 'Wait until the other flywheel process is done, or stop it, then run again.',
  },
  SQLITE_READONLY: READ_ONLY,
  SQLITE_PERM: READ_ONLY,
  SQLITE_FULL: FULL,
  SQLITE_CORRUPT: DAMAGED,
  SQLITE_NOTADB: {
    is: 'is not a database, or is damaged',
    hint: 'Check that --data-dir is right; restore the file from a backup, or move it away to begin anew.',
  },
  SQLITE_IOERR: {
    is: 'cannot be read or written: the disk reports an error',
    hint: 'Check the disk and free space, then run again.',
  },
  SQLITE_CANTOPEN: {
    is: 'cannot be opened',
    hint: 'Check that the path is a file, and that the user of this process may write to it and its directory.',
  },
};

const BY_SYSTEM_ERROR: Readonly<Record<string, Reason>> = {
  EACCES: READ_ONLY,
  EPERM: READ_ONLY,
  EROFS: READ_ONLY,
  ENOSPC: FULL,
  EDQUOT: FULL,
  ENOTDIR: {
    is: 'cannot be opened: a part of its path is not a directory',
    hint: 'Choose another --data-dir.',
  },
  EISDIR: { is: 'cannot be opened: it is a directory', hint: 'Choose another --data-dir.' },
  EEXIST: {
    is: 'cannot be opened: a part of its path is not a directory',
    hint: 'Choose another --data-dir.',
  },
};

/** libsql tells why it could not open a file only by SQLite's number at the end of its text. */
const OPEN_FAILURE = /Unable to open connection to local database .*: (\d+)/s;
const CANNOT_OPEN = 14;

const codeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string' && error.code !== '') return error.code;
  return Number(OPEN_FAILURE.exec(error.message)?.[1]) === CANNOT_OPEN ? 'SQLITE_CANTOPEN' : '';
};

const firstWords = (code: string): string => code.split('_', 2).join('_');

/** Is the lock held by someone else at this moment? */
export const isBusy = (error: unknown): boolean => firstWords(codeOf(error)) === 'SQLITE_BUSY';

export const isReadOnly = (error: unknown): boolean => firstWords(codeOf(error)) === 'SQLITE_READONLY';

const unavailable = (file: string, reason: Reason, cause?: unknown): FlywheelError =>
  new FlywheelError('ERR_STORE_UNAVAILABLE', `The store ${file} ${reason.is}.`, { hint: reason.hint, cause });

/**
 * What was thrown, as `ERR_STORE_UNAVAILABLE` where the store is at fault and `ERR_INTERNAL` where a statement is; an error of
 * the house stays as it is.
 */
export function toStoreError(error: unknown, file: string): FlywheelError {
  if (isFlywheelError(error)) return error;
  const code = codeOf(error);
  const reason = BY_RESULT[firstWords(code)] ?? BY_SYSTEM_ERROR[code];
  if (reason !== undefined) return unavailable(file, reason, error);
  const sentence = code.startsWith('SQLITE_CONSTRAINT')
    ? 'The store refused a record that breaks one of its rules.'
    : 'The store could not run a statement.';
  return new FlywheelError('ERR_INTERNAL', sentence, { cause: error });
}

/** The write lock was not to be had in time. */
export const lockedTooLong = (file: string, waitedMs: number, by: string, cause?: unknown): FlywheelError =>
  new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    `The store ${file} is locked by ${by}; gave up after ${(waitedMs / 1_000).toLocaleString('en')} s.`,
    { hint: 'Wait until the other work on it is done, or stop it, then run again.', cause },
  );

export const storeClosed = (file: string): FlywheelError =>
  new FlywheelError('ERR_STORE_UNAVAILABLE', `The store ${file} is closed.`, {
    hint: 'Run again; the process was shutting down.',
  });
