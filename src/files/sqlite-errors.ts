/** Maps SQLite failures to errors that name the file and the remedy, not the statement. */
import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';

export interface FileName {
  readonly path: string;
  /** "ledger", "journal", … */
  readonly noun: string;
}

interface Reason {
  /** Completes "The ledger FILE …". */
  readonly what: string;
  readonly hint: string;
}

const DAMAGED_HINT =
  'Stop all flywheel processes and keep a copy. Restore the directory from a backup, or start with another directory.';

/** Primary result codes that a file, its disk or a constraint can cause. */
const CODE = {
  permission: 3,
  busy: 5,
  locked: 6,
  readOnly: 8,
  inputOutput: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  constraint: 19,
  noDatabase: 26,
} as const;

const LOCKED: Reason = {
  what: 'is locked by another process',
  hint: 'Wait for the other command, or stop it. Then run this command again.',
};
const READ_ONLY: Reason = {
  what: 'is read-only for this user',
  hint: 'Give this user write access to the file and its directory (`flywheel doctor` shows how), or use another directory.',
};
const FULL: Reason = {
  what: 'cannot grow: the disk or the quota is full',
  hint: 'Delete or move other files on its disk, or raise the quota. Then run the command again. Earlier data is intact.',
};
const CANNOT_OPEN: Reason = {
  what: 'cannot be opened',
  hint: 'Check that the directory exists, that the path is a file, and that this user can read and write it.',
};
const NOT_A_DIRECTORY: Reason = {
  what: 'cannot be opened: a part of its path is not a directory',
  hint: 'Use another directory.',
};

/** By primary result code (https://sqlite.org/rescode.html). */
const REASONS: Readonly<Record<number, Reason>> = {
  [CODE.busy]: LOCKED,
  [CODE.locked]: LOCKED,
  [CODE.readOnly]: READ_ONLY,
  [CODE.permission]: READ_ONLY,
  [CODE.cannotOpen]: CANNOT_OPEN,
  [CODE.full]: FULL,
  [CODE.inputOutput]: {
    what: 'could not be read or written by the operating system',
    hint: 'Check the disk and its free space, then run the command again.',
  },
  // SQLite uses one code for a damaged page and for one that the disk failed to read (EIO).
  [CODE.corrupt]: {
    what: 'is damaged, or the disk failed to read it',
    hint: `Run the command again. If it says the same, check the disk. ${DAMAGED_HINT}`,
  },
  [CODE.noDatabase]: {
    what: 'is not a database, or is damaged',
    hint: `Check that --data-dir is right. ${DAMAGED_HINT}`,
  },
};

const SYSTEM_REASONS: Readonly<Record<string, Reason>> = {
  EACCES: READ_ONLY,
  EPERM: READ_ONLY,
  EROFS: READ_ONLY,
  ENOSPC: FULL,
  EDQUOT: FULL,
  ENOTDIR: NOT_A_DIRECTORY,
  EEXIST: NOT_A_DIRECTORY,
  EISDIR: { what: 'cannot be opened: it is a directory', hint: 'Use another directory.' },
  ENOENT: CANNOT_OPEN,
  ELOOP: CANNOT_OPEN,
  EMFILE: CANNOT_OPEN,
};

/** The low byte of an extended result code is the primary code. */
const PRIMARY_MASK = 0xff;
/** For errors on opening, and for codes without a name, the driver has the code only in its text. */
const CODE_IN_TEXT = /^(?:UNKNOWN_SQLITE_ERROR_|ConnectionFailed\(.*: )(\d+)/s;

function resultOf(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, rawCode } = error as Error & { code?: unknown; rawCode?: unknown };
  if (typeof rawCode === 'number') return rawCode & PRIMARY_MASK;
  const named = typeof code === 'string' ? code : '';
  const number = CODE_IN_TEXT.exec(named)?.[1] ?? CODE_IN_TEXT.exec(error.message)?.[1];
  return number === undefined ? undefined : Number(number) & PRIMARY_MASK;
}

export const isBusy = (error: unknown): boolean => resultOf(error) === CODE.busy;

export const isOfSqlite = (error: unknown): boolean => resultOf(error) !== undefined;

export const isRefusedRow = (error: unknown): boolean => resultOf(error) === CODE.constraint;

function reasonOf(error: unknown, path: string): Reason | undefined {
  const result = resultOf(error);
  if (result === CODE.cannotOpen && isClosedToUs(path)) return READ_ONLY;
  if (result !== undefined) return REASONS[result];
  return error instanceof Error && 'code' in error ? SYSTEM_REASONS[String(error.code)] : undefined;
}

/** SQLite needs to write in the directory too, and does not report which file it could not open. */
function isClosedToUs(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    accessSync(dirname(path), constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}

export const fileUnavailable = (
  { path, noun }: FileName,
  what: string,
  options: { hint: string; cause?: unknown },
): FlywheelError => new FlywheelError('ERR_STORE_UNAVAILABLE', `The ${noun} ${path} ${what}.`, options);

export const fileReplaced = (name: FileName): FlywheelError =>
  fileUnavailable(name, 'was removed or replaced while in use. Nothing more is written', {
    hint: 'Stop all flywheel processes before you delete or restore a data directory.',
  });

/** For a row that this program never writes. */
export const fileDamaged = (name: FileName, cause: unknown): FlywheelError =>
  fileUnavailable(name, 'is damaged', { hint: DAMAGED_HINT, cause });

/** File errors become `ERR_STORE_UNAVAILABLE`; others, such as a wrong statement, are returned unchanged. */
export function translateSqliteError(name: FileName, error: unknown): unknown {
  if (isFlywheelError(error)) return error;
  const reason = reasonOf(error, name.path);
  if (reason === undefined) return error;
  return fileUnavailable(name, reason.what, { hint: reason.hint, cause: error });
}
