/** Time and tries: which outcome may be tried again, how long to wait before, and in total never longer than allowed. */
import { ERRORS, type ErrorCode } from '../errors/codes.js';
import type { FlywheelError } from '../errors/flywheel-error.js';
import type { Clock } from '../values/time.js';

/** Bounds of the random wait before the second try; they double with each further one (contract, section 2.5). */
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 8_000;

const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

/** Every POST of this client that acts carries an idempotency key, and the others do nothing twice, so that `with-key` always holds. */
export function isRetryable(error: FlywheelError, trusted: boolean): boolean {
  if (trusted && error.options.foreignCode === undefined) {
    return ERRORS[error.code as ErrorCode].retry !== 'never';
  }
  return RETRYABLE_STATUSES.has(error.status ?? 0);
}

/**
 * Does this answer settle an earlier try that got none? Only a service does that says that it has never done anything under the key,
 * and never will. Whatever else refuses the request, or fails, leaves the key to the earlier one, which may be on its way.
 */
export const settlesEarlierTries = ({ options }: FlywheelError): boolean => options.keyUnused === true;

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

/** What one call may take: all of it together, and of that all the waiting between requests. */
export class CallBudget {
  readonly #clock: Clock;
  readonly #endMs: number;
  #waitsMs: number;

  /**
   * @param totalMs - for everything: tries, answers and waits.
   * @param maxWaitMs - for the waits.
   */
  constructor(clock: Clock, totalMs: number, maxWaitMs: number) {
    this.#clock = clock;
    this.#endMs = clock.nowMs() + totalMs;
    this.#waitsMs = maxWaitMs;
  }

  /** What is left of all, at least 0. */
  get leftMs(): number {
    return Math.max(0, this.#endMs - this.#clock.nowMs());
  }

  /** What is left for waiting. */
  get waitsMs(): number {
    return Math.min(this.#waitsMs, this.leftMs);
  }

  /** Takes the time for a wait; false, and nothing is taken, when it is longer than what is left. */
  spend(ms: number): boolean {
    if (ms > this.waitsMs) return false;
    this.#waitsMs -= ms;
    return true;
  }
}
