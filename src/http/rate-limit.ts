/**
 * Rate limits per key: GCRA, with a burst of as many requests as the limit has points. A request beyond the limit with an
 * idempotency key may be a repeat; a repeat is answered with the stored result (service specification, section 4.1). Repeats have
 * their own limit, ten times as high.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply } from 'fastify';
import {
  encodeRateLimit,
  encodeRateLimitPolicy,
  RATE_LIMIT_HEADER,
  RATE_LIMIT_POLICY_HEADER,
} from '../contract/headers.js';
import type { Operation, Rate, RateLimit } from '../contract/operations.js';
import type { RateCounts } from '../contract/served-engine.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { readIdempotencyKey } from './headers.js';

const US_PER_SECOND = 1_000_000;

/**
 * In-memory counts, for a server that does not share its store: at most one for each API key and limit.
 * @param nowUs - must be monotonic.
 */
export function createMemoryCounts(
  nowUs: () => number = () => Math.round(performance.now() * 1_000),
): RateCounts {
  /** By key: time at which all points are available again, in microseconds. */
  const whole = new Map<string, number>();
  return {
    take({ key, intervalUs, periodUs }) {
      const now = nowUs();
      // Capped at one period ahead, because the same name may have had a slower limit before.
      const before = Math.max(now, Math.min(whole.get(key) ?? now, now + periodUs));
      const allowed = before + intervalUs <= now + periodUs;
      const after = allowed ? before + intervalUs : before;
      whole.set(key, after);
      return { allowed, wholeAfterUs: after - now };
    },
  };
}

const wholeSeconds = (us: number): number => Math.max(1, Math.ceil(us / US_PER_SECOND));

/**
 * Counts one request; a refused request is not counted.
 * @returns in whole seconds. `retryAfterSeconds` is 0 for an allowed request; `remaining` requests may follow at once.
 * @throws `ERR_UNAVAILABLE` when the count cannot be stored.
 */
export async function takeRate(counts: RateCounts, keyId: string, limit: RateLimit) {
  const { name, points, windowSeconds } = limit;
  const intervalUs = Math.max(1, Math.floor((windowSeconds * US_PER_SECOND) / points));
  const periodUs = intervalUs * points;
  try {
    const { allowed, wholeAfterUs } = await counts.take({ key: `${name}:${keyId}`, intervalUs, periodUs });
    const freeUs = periodUs - wholeAfterUs;
    const remaining = allowed ? Math.floor(freeUs / intervalUs) : 0;
    const retryAfterSeconds = allowed ? 0 : wholeSeconds(intervalUs - freeUs);
    return { allowed, remaining, resetSeconds: wholeSeconds(wholeAfterUs), retryAfterSeconds };
  } catch (cause) {
    const options = { cause, retryAfterSeconds: 1 };
    throw new FlywheelError('ERR_UNAVAILABLE', 'The rate limit cannot be checked.', options);
  }
}

export const withRate = (limit: RateLimit, rate: Rate | undefined): RateLimit => ({ ...limit, ...rate });

export const rateLimitHeaders = (
  limit: RateLimit,
  decision?: Awaited<ReturnType<typeof takeRate>>,
): Record<string, string> => ({
  [RATE_LIMIT_POLICY_HEADER]: encodeRateLimitPolicy(limit),
  [RATE_LIMIT_HEADER]: encodeRateLimit(
    limit.name,
    decision?.remaining ?? limit.points,
    decision?.resetSeconds ?? limit.windowSeconds,
  ),
});

function mayRepeat(operation: Operation, request: IncomingMessage): boolean {
  try {
    return readIdempotencyKey(operation, request) !== undefined;
  } catch {
    return false;
  }
}

/**
 * Counts a request and sets the rate limit headers.
 * @returns `undefined` within the limit; otherwise the error to throw unless a stored answer is found.
 * @throws `ERR_RATE_LIMIT_EXCEEDED` with the time to retry, when the request cannot be a repeat.
 */
export async function admit(
  counts: RateCounts,
  operation: Operation,
  limit: RateLimit,
  keyId: string,
  reply: FastifyReply,
): Promise<FlywheelError | undefined> {
  const decision = await takeRate(counts, keyId, limit);
  reply.headers(rateLimitHeaders(limit, decision));
  if (decision.allowed) return undefined;
  const { retryAfterSeconds } = decision;
  const message = `Over the rate limit of ${limit.points} in ${limit.windowSeconds} s. Try again in ${retryAfterSeconds} s.`;
  const refusal = new FlywheelError('ERR_RATE_LIMIT_EXCEEDED', message, { retryAfterSeconds });
  if (!mayRepeat(operation, reply.request.raw)) throw refusal;
  // A repeat costs a look-up and burns nothing (contract, section 1.5).
  const repeats = { ...limit, name: `${limit.name}-repeat`, points: limit.points * 10 };
  if (!(await takeRate(counts, keyId, repeats)).allowed) throw refusal;
  return refusal;
}
