/** What a failure of SQLite means to the reader; which statement failed is of no use to anyone. */
import { FlywheelError, isFlywheelError } from '../../../errors/flywheel-error.js';

interface Reason {
  /** Completes the sentence "The ledger FILE …". */
  readonly what: string;
  readonly hint: string;
}

const DAMAGED_HINT = 'Restore the data directory from a copy, or start anew with another one.';

/** By primary result code (https://sqlite.org/rescode.html). */
const REASONS: ReadonlyMap<string, Reason> = new Map([
  [
    'BUSY',
    {
      what: 'is locked by another process',
      hint: 'Wait until the other command is done, then run this one again.',
    },
  ],
  [
    'READONLY',
    { what: 'is read-only', hint: 'Make the file and its directory writable, or give another --data-dir.' },
  ],
  [
    'PERM',
    {
      what: 'may not be opened by this user',
      hint: 'Check the owner and the permissions of the file and its directory.',
    },
  ],
  [
    'CANTOPEN',
    {
      what: 'cannot be opened',
      hint: 'Check that its directory exists and that this user may read and write it.',
    },
  ],
  [
    'FULL',
    {
      what: 'cannot grow: the disk or the quota is full',
      hint: 'Free some space, then run the command again.',
    },
  ],
  [
    'IOERR',
    {
      what: 'could not be read or written by the operating system',
      hint: 'Check the disk and its free space, then run the command again.',
    },
  ],
  ['CORRUPT', { what: 'is damaged', hint: DAMAGED_HINT }],
  [
    'NOTADB',
    {
      what: 'is damaged or is not a ledger',
      hint: 'Restore the data directory from a copy, or give another --data-dir.',
    },
  ],
]);

/** Codes that say this program is wrong, not the file. */
const OWN_FAULTS: ReadonlySet<string> = new Set(['CONSTRAINT', 'ERROR', 'MISUSE', 'RANGE', 'MISMATCH']);

/** The primary result code: `SQLITE_IOERR_WRITE` is `IOERR`. */
function resultCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  // The driver states only in the text that it could not open the file (SQLITE_CANTOPEN is 14).
  if (error.message.startsWith('ConnectionFailed')) return 'CANTOPEN';
  const code = (error as Error & { code?: unknown }).code;
  if (typeof code !== 'string') return undefined;
  if (code === 'EACCES' || code === 'EPERM') return 'PERM';
  if (code === 'EROFS') return 'READONLY';
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'FULL';
  if (/^E[A-Z]+$/.test(code)) return 'CANTOPEN';
  return /^SQLITE_([A-Z]+)/.exec(code)?.[1];
}

/** Builds the error for a ledger file that cannot be used, saying which and why. */
export const ledgerUnavailable = (
  path: string,
  what: string,
  options: { hint: string; cause?: unknown },
): FlywheelError => new FlywheelError('ERR_STORE_UNAVAILABLE', `The ledger ${path} ${what}.`, options);

/** Builds the error for a row that holds what this house never writes. */
export const ledgerDamaged = (path: string, cause: unknown): FlywheelError =>
  ledgerUnavailable(path, 'is damaged', { hint: DAMAGED_HINT, cause });

/** A failure of the file or of SQLite as `ERR_STORE_UNAVAILABLE`; any other error as it came. */
export function translateStoreError(path: string, error: unknown): unknown {
  if (isFlywheelError(error)) return error;
  const code = resultCode(error);
  if (code === undefined || OWN_FAULTS.has(code)) return error;
  const { what, hint } = REASONS.get(code === 'LOCKED' ? 'BUSY' : code) ?? {
    what: `cannot be used (SQLite ${code})`,
    hint: 'Set FLYWHEEL_DEBUG=1 to see the cause.',
  };
  return ledgerUnavailable(path, what, { hint, cause: error });
}
