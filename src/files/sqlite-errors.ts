/** What a failure of SQLite means to the reader; which statement failed is of no use to anyone. */
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';

/** What messages call a file. */
export interface FileName {
  readonly path: string;
  /** What it is: "ledger", "journal". */
  readonly noun: string;
}

interface Reason {
  /** Completes the sentence "The ledger FILE …". */
  readonly what: string;
  readonly hint: string;
}

const DAMAGED_HINT = 'Restore its directory from a copy, or start anew with another one.';

/** Primary result codes of SQLite that a file or its surroundings can bring about. */
const CODE = {
  permission: 3,
  busy: 5,
  locked: 6,
  readOnly: 8,
  inputOutput: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  noDatabase: 26,
} as const;

const LOCKED: Reason = {
  what: 'is locked by another process',
  hint: 'Wait until the other command is done, then run this one again.',
};

/** By primary result code (https://sqlite.org/rescode.html). */
const REASONS: ReadonlyMap<number, Reason> = new Map<number, Reason>([
  [CODE.busy, LOCKED],
  [CODE.locked, LOCKED],
  [
    CODE.readOnly,
    { what: 'is read-only', hint: 'Make the file and its directory writable, or give another directory.' },
  ],
  [
    CODE.permission,
    {
      what: 'may not be opened by this user',
      hint: 'Check the owner and the permissions of the file and its directory.',
    },
  ],
  [
    CODE.cannotOpen,
    {
      what: 'cannot be opened',
      hint: 'Check that its directory exists and that this user may read and write it.',
    },
  ],
  [
    CODE.full,
    {
      what: 'cannot grow: the disk or the quota is full',
      hint: 'Free some space, then run the command again.',
    },
  ],
  [
    CODE.inputOutput,
    {
      what: 'could not be read or written by the operating system',
      hint: 'Check the disk and its free space, then run the command again.',
    },
  ],
  // SQLite tells a page that is wrong and one that the disk failed to read (EIO) by the same code.
  [
    CODE.corrupt,
    {
      what: 'is damaged, or the disk failed to read it',
      hint: 'Run the command again. If it says the same, check the disk, then restore its directory from a copy.',
    },
  ],
  [
    CODE.noDatabase,
    {
      what: 'is damaged or is not a database',
      hint: 'Restore its directory from a copy, or give another one.',
    },
  ],
]);

/** What the operating system says when the file cannot even be made. */
const SYSTEM_CODES: Readonly<Record<string, number>> = {
  EACCES: CODE.permission,
  EPERM: CODE.permission,
  EROFS: CODE.readOnly,
  ENOSPC: CODE.full,
  EDQUOT: CODE.full,
  ENOENT: CODE.cannotOpen,
  ENOTDIR: CODE.cannotOpen,
  ELOOP: CODE.cannotOpen,
  EMFILE: CODE.cannotOpen,
};

/** The low byte of an extended result code is the primary one. */
const PRIMARY_MASK = 0xff;
/** The driver states only in its text which code it got when it opened the file, or a code that it has no name for. */
const CODE_IN_TEXT = /^(?:UNKNOWN_SQLITE_ERROR_|ConnectionFailed\(.*: )(\d+)/s;

function primaryCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, rawCode } = error as Error & { code?: unknown; rawCode?: unknown };
  if (typeof rawCode === 'number') return rawCode & PRIMARY_MASK;
  const named = typeof code === 'string' ? code : '';
  const number = CODE_IN_TEXT.exec(named)?.[1] ?? CODE_IN_TEXT.exec(error.message)?.[1];
  return number === undefined ? SYSTEM_CODES[named] : Number(number) & PRIMARY_MASK;
}

/** Builds the error for a file that cannot be used, saying which and why. */
export const fileUnavailable = (
  { path, noun }: FileName,
  what: string,
  options: { hint: string; cause?: unknown },
): FlywheelError => new FlywheelError('ERR_STORE_UNAVAILABLE', `The ${noun} ${path} ${what}.`, options);

/** Builds the error for a row that holds what this house never writes. */
export const fileDamaged = (name: FileName, cause: unknown): FlywheelError =>
  fileUnavailable(name, 'is damaged', { hint: DAMAGED_HINT, cause });

/** A failure of the file as `ERR_STORE_UNAVAILABLE`; any other error, a wrong statement among them, as it came. */
export function translateSqliteError(name: FileName, error: unknown): unknown {
  if (isFlywheelError(error)) return error;
  const reason = REASONS.get(primaryCode(error) ?? -1);
  if (reason === undefined) return error;
  return fileUnavailable(name, reason.what, { hint: reason.hint, cause: error });
}
