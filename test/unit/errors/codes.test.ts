/** Compares the table of errors with the statuses of the contract and the rules of the exit codes. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ERRORS, type ErrorCode, isErrorCode } from '../../../src/errors/codes.js';
import { EXIT, EXIT_CODES } from '../../../src/errors/exit-codes.js';
import {
  FlywheelError,
  invariant,
  isFlywheelError,
  wrapUnknown,
} from '../../../src/errors/flywheel-error.js';

/** Contract, section 1.3: `| 404 / 405 | ERR_ONE / ERR_OTHER |`, or several codes of one status with commas between. */
const STATUSES = [
  ...readFileSync('docs/contract.md', 'utf8').matchAll(/^\| ([\d /]+) \| (ERR_[A-Z_, /]+) \|/gm),
].flatMap(([, statuses = '', named = '']) => {
  const each = statuses.split(' / ');
  return named.split(/, | \/ /).map((code, at) => [code, Number(each[at] ?? each[0])] as const);
});

/** Contract, section 2.4: exit codes of a status. */
function exitsOf(status: number): readonly number[] {
  if (status === 401 || status === 403) return [EXIT.auth];
  if (status === 429 || status === 503) return [EXIT.unavailable];
  if (status >= 500) return [EXIT.internal];
  // Waiting resolves some conflicts; wrong input is a usage error.
  if (status === 409) return [EXIT.refused, EXIT.unavailable];
  if (status === 400 || status === 413) return [EXIT.refused, EXIT.usage];
  return [EXIT.refused];
}

const codes = Object.keys(ERRORS) as ErrorCode[];

describe('ERRORS', () => {
  it('has the statuses of the contract, and no other code crosses the wire', () => {
    const wired = codes.flatMap((code) => {
      const { status } = ERRORS[code];
      return status === null ? [] : [[code, status] as const];
    });
    expect(Object.fromEntries(STATUSES)).toEqual(Object.fromEntries(wired));
  });

  it.each(codes)('%s ends with an exit number that belongs to it', (code) => {
    const { status, exit } = ERRORS[code];
    if (status !== null) expect(exitsOf(status)).toContain(exit);
    expect(EXIT_CODES.map(({ code: number }) => number)).toContain(exit);
    expect(exit).not.toBe(EXIT.done);
  });

  it('lets a burn without a record be sent again under its key, and nothing behind a wrong signature', () => {
    const { ERR_CREATE_API_EVENT_FAILED: unrecorded, ERR_SIGNATURE_WRONG: wrong } = ERRORS;
    expect([unrecorded.retry, wrong.retry]).toEqual(['with-key', 'never']);
  });

  it('explains every exit number once', () => {
    expect(EXIT_CODES.map(({ code: number }) => number)).toEqual(Object.values(EXIT));
  });

  it('knows its own codes, and nothing that every object has', () => {
    expect(['ERR_INTERNAL', 'toString'].map(isErrorCode)).toEqual([true, false]);
  });
});

describe('FlywheelError', () => {
  it('takes status, exit and hint from the table unless told otherwise', () => {
    const plain = new FlywheelError('ERR_APPROVAL_EXPIRED', 'Too old.');
    const { status, exit } = ERRORS.ERR_APPROVAL_EXPIRED;
    expect([plain.status, plain.exitCode]).toEqual([status, exit]);
    expect(plain.hint).toContain('batch approve');
    const told = plain.with({ status: 418, exit: EXIT.pending, hint: 'Wait.', requestId: 'r-1' });
    expect([told.status, told.exitCode, told.hint, told.options.requestId]).toEqual([418, 8, 'Wait.', 'r-1']);
    expect([told.message, told.stack]).toEqual([plain.message, plain.stack]);
  });

  it('wraps what is not of the house without letting it speak', () => {
    const cause = new Error('password is hunter2');
    const wrapped = wrapUnknown(cause);
    expect(wrapped).toMatchObject({ code: 'ERR_INTERNAL', cause });
    expect(wrapped.message).not.toContain('hunter2');
    expect(wrapUnknown(wrapped)).toBe(wrapped);
    expect(isFlywheelError(wrapped, 'ERR_USAGE')).toBe(false);
    expect(() => invariant(false, 'Never.')).toThrow(expect.objectContaining({ code: 'ERR_INTERNAL' }));
  });
});
