/** Compares the table of errors with the promised statuses and exit codes. */
import { describe, expect, it } from 'vitest';
import { ERRORS, type ErrorCode, isErrorCode } from '../../../src/errors/codes.js';
import { EXIT, EXIT_CODES } from '../../../src/errors/exit-codes.js';
import {
  FlywheelError,
  invariant,
  isFlywheelError,
  wrapUnknown,
} from '../../../src/errors/flywheel-error.js';

/** Contract, section 1.3. */
const STATUSES: Readonly<Record<string, number>> = {
  ERR_INVALID_REQUEST: 400,
  ERR_TOKEN_NOT_FOUND: 400,
  ERR_CREATE_API_EVENT_FAILED: 400,
  ERR_INVALID_PROOF: 400,
  ERR_BURN_TOKENOMICS_FAILED: 400,
  ERR_FLYWHEEL_NOT_FOUND: 400,
  ERR_ACTION_NOT_SUPPORTED: 400,
  ERR_PIPELINE_TOO_LARGE: 400,
  ERR_INSUFFICIENT_FUNDS: 400,
  ERR_DAILY_LIMIT_EXCEEDED: 400,
  ERR_INVALID_SIGNED_TX: 400,
  ERR_APPROVAL_EXPIRED: 400,
  ERR_UNAUTHORIZED: 401,
  ERR_KEY_SCOPES_UNAUTHORIZED: 403,
  ERR_BATCH_NOT_FOUND: 404,
  ERR_NOT_FOUND: 404,
  ERR_METHOD_NOT_ALLOWED: 405,
  ERR_DUPLICATE_IDEMPOTENCY_KEY: 409,
  ERR_BATCH_NOT_FINALIZED: 409,
  ERR_BATCH_IN_PROGRESS: 409,
  ERR_PAYLOAD_TOO_LARGE: 413,
  ERR_UNSUPPORTED_MEDIA_TYPE: 415,
  ERR_IDEMPOTENCY_KEY_REUSED: 422,
  ERR_RATE_LIMIT_EXCEEDED: 429,
  ERR_BATCH_CURRENT_FAILED: 500,
  ERR_BATCH_INIT_FAILED: 500,
  ERR_BATCH_EXECUTE_FAILED: 500,
  ERR_INTERNAL: 500,
  ERR_UNAVAILABLE: 503,
  ERR_STORE_BEHIND: 503,
  ERR_SIGNER_FAILED: 500,
  ERR_SIGNATURE_WRONG: 500,
};

/** Codes whose retry rule differs from their status's rule. */
const OTHER_RETRIES: Readonly<Record<string, string>> = {
  // Nothing was burned, and the request is valid.
  ERR_CREATE_API_EVENT_FAILED: 'with-key',
  // The next signature would be wrong too.
  ERR_SIGNATURE_WRONG: 'never',
};

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
    const wired = codes.filter((code) => ERRORS[code].status !== null);
    expect(Object.fromEntries(wired.map((code) => [code, ERRORS[code].status]))).toEqual(STATUSES);
  });

  it.each(codes)('%s ends with an exit number that belongs to it', (code) => {
    const { status, exit, when } = ERRORS[code];
    if (status !== null) expect(exitsOf(status)).toContain(exit);
    expect(EXIT_CODES.map(({ code: number }) => number)).toContain(exit);
    expect(exit).not.toBe(EXIT.done);
    expect(code).toMatch(/^ERR_[A-Z_]+$/);
    expect(when).toMatch(/^[^A-Z].*[^.]$|^the key's/);
  });

  it.each([
    [400, 'never'],
    [401, 'never'],
    [403, 'never'],
    [404, 'never'],
    [413, 'never'],
    [422, 'never'],
    [429, 'always'],
    [500, 'with-key'],
    [503, 'always'],
  ])('lets a request that got %i be sent again: %s', (status, rule) => {
    const retries = codes
      .filter((code) => ERRORS[code].status === status)
      .map((code) => [code, ERRORS[code].retry]);
    const expected = retries.map(([code = '']) => [code, OTHER_RETRIES[code] ?? rule]);
    expect(retries).toEqual(expected);
  });

  it('explains every exit number once', () => {
    const numbers = EXIT_CODES.map(({ code: number }) => number);
    expect(numbers).toEqual([...Object.values(EXIT)]);
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it('knows its own codes, and nothing that every object has', () => {
    expect(isErrorCode('ERR_INTERNAL')).toBe(true);
    expect(isErrorCode('toString')).toBe(false);
  });
});

describe('FlywheelError', () => {
  it('takes status, exit and hint from the table unless told otherwise', () => {
    const plain = new FlywheelError('ERR_APPROVAL_EXPIRED', 'Too old.');
    expect([plain.status, plain.exitCode, plain.hint]).toEqual([
      400,
      5,
      expect.stringContaining('batch approve'),
    ]);
    const told = plain.with({ status: 418, exit: EXIT.pending, hint: 'Wait.', requestId: 'r-1' });
    expect([told.status, told.exitCode, told.hint, told.options.requestId]).toEqual([418, 8, 'Wait.', 'r-1']);
    expect([told.message, told.stack]).toEqual([plain.message, plain.stack]);
    expect(new FlywheelError('ERR_USAGE', 'Wrong.').status).toBeUndefined();
  });

  it('wraps what is not of the house without letting it speak', () => {
    const cause = new Error('password is hunter2');
    const wrapped = wrapUnknown(cause);
    expect(wrapped).toMatchObject({ code: 'ERR_INTERNAL', cause });
    expect(wrapped.message).not.toContain('hunter2');
    expect(wrapUnknown(wrapped)).toBe(wrapped);
    expect(isFlywheelError(wrapped, 'ERR_USAGE')).toBe(false);
    expect(isFlywheelError(cause)).toBe(false);
    expect(() => invariant(false, 'Never.')).toThrow(expect.objectContaining({ code: 'ERR_INTERNAL' }));
  });
});
