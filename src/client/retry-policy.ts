/** May this outcome be tried again, how long to wait before, and what it says about what happened at the service. */
import { ERRORS, type ErrorCode } from '../errors/codes.js';
import type { FlywheelError } from '../errors/flywheel-error.js';

/** Bounds of the random wait before the second try; they double with each further one (contract, section 2.5). */
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 8_000;

const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

/** Every POST of this client carries an idempotency key, so that `with-key` always holds. */
export function isRetryable(error: FlywheelError, trusted: boolean): boolean {
  if (trusted && error.options.foreignCode === undefined) {
    return ERRORS[error.code as ErrorCode].retry !== 'never';
  }
  return RETRYABLE_STATUSES.has(error.status ?? 0);
}

/** Codes that leave open what became of an earlier try: it may be what is still running. */
const STILL_RUNNING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'ERR_DUPLICATE_IDEMPOTENCY_KEY',
  'ERR_BATCH_IN_PROGRESS',
]);

/** Refused before anyone looked at the operation: whatever stands between, or another server, may have said so. */
const AT_THE_DOOR: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['ERR_NOT_FOUND']);

/**
 * Does this answer settle an earlier try that got none? A refusal of the request itself does: had the earlier one
 * succeeded, the service would have replayed it. A refusal at the door does not, nor does a code that this client does not
 * know: it may be that of something in between.
 */
export function settlesEarlierTries(error: FlywheelError): boolean {
  if (STILL_RUNNING.has(error.code) || AT_THE_DOOR.has(error.code)) return false;
  if (error.options.foreignCode !== undefined) return false;
  const { status } = error;
  return status === 400 || status === 404 || status === 409 || status === 422;
}

/** The header's seconds or HTTP date (RFC 9110, section 10.2.3) as milliseconds from now. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d{1,9}(?:\.\d{1,9})?$/.test(text)) return Math.ceil(Number(text) * 1_000);
  const dateMs = Date.parse(text);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}

/** Full jitter: anything from nothing to the bound. @param tryNumber - of the try that failed, from 1. */
export function backoffMs(tryNumber: number, random: () => number): number {
  return Math.floor(random() * Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (tryNumber - 1)));
}
