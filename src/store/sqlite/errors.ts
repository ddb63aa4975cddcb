/** Whatever SQLite or the file system throws → an error of the house that names the file and the reason. */
import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
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
/** SQLite tells a page that is wrong and one that the disk failed to read (EIO) by the same code. */
const DAMAGED: Reason = {
  is: 'is damaged, or the disk failed to read it',
  hint: 'Run again. If it says the same, check the disk, stop all flywheel processes, keep a copy of the file, and restore it from a backup.',
};

/** The primary result codes of SQLite that matter here (https://www.sqlite.org/rescode.html). */
const RESULT = {
  perm: 3,
  busy: 5,
  readonly: 8,
  ioerr: 10,
  corrupt: 11,
  full: 13,
  cantopen: 14,
  constraint: 19,
  notadb: 26,
} as const;

const BY_RESULT: Readonly<Record<number, Reason>> = {
  [RESULT.busy]: {
    is: 'is locked by another process',
    hint: 'Wait until the other flywheel process is done, or stop it, then run again.',
  },
  [RESULT.readonly]: READ_ONLY,
  [RESULT.perm]: READ_ONLY,
  [RESULT.full]: FULL,
  [RESULT.corrupt]: DAMAGED,
  [RESULT.notadb]: {
    is: 'is not a database, or is damaged',
    hint: 'Check that --data-dir is right; restore the file from a backup, or move it away to begin anew.',
  },
  [RESULT.ioerr]: {
    is: 'cannot be read or written: the disk reports an error',
    hint: 'Check the disk and free space, then run again.',
  },
  [RESULT.cantopen]: {
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

/** SQLite's primary result code, the low byte of what libsql calls the raw code; libsql has no names for some extended ones. */
function resultOf(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const raw = 'rawCode' in error ? error.rawCode : OPEN_FAILURE.exec(error.message)?.[1];
  return raw === undefined ? undefined : Number(raw) & 0xff;
}

/** Is the lock held by someone else at this moment? */
export const isBusy = (error: unknown): boolean => resultOf(error) === RESULT.busy;

export const isReadOnly = (error: unknown): boolean => resultOf(error) === RESULT.readonly;

const unavailable = (file: string, reason: Reason, cause?: unknown): FlywheelError =>
  new FlywheelError('ERR_STORE_UNAVAILABLE', `The store ${file} ${reason.is}.`, { hint: reason.hint, cause });

function reasonOf(error: unknown, file: string): Reason | undefined {
  const result = resultOf(error);
  if (result === RESULT.cantopen && !isWritable(file)) return READ_ONLY;
  if (result !== undefined) return BY_RESULT[result];
  return error instanceof Error && 'code' in error ? BY_SYSTEM_ERROR[String(error.code)] : undefined;
}

/** SQLite also writes beside the file, and does not say what it could not open. */
function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
    accessSync(dirname(file), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * What was thrown, as `ERR_STORE_UNAVAILABLE` where the store is at fault and `ERR_INTERNAL` where a statement is; an error of
 * the house stays as it is.
 */
export function toStoreError(error: unknown, file: string): FlywheelError {
  if (isFlywheelError(error)) return error;
  const reason = reasonOf(error, file);
  if (reason !== undefined) return unavailable(file, reason, error);
  const sentence =
    resultOf(error) === RESULT.constraint
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

/** Somebody has removed the file, or put another in its place, while it was open. */
export const storeReplaced = (file: string): FlywheelError =>
  new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    `The store ${file} has been removed or replaced while it was in use; nothing more is written.`,
    { hint: 'Stop all flywheel processes before a data directory is wiped or restored.' },
  );
