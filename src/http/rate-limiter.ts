/**
 * How many requests a key may make: at a steady rate, with a burst of as many as its limit has points (GCRA). The counting is
 * the store's, so that all servers on one data directory count together and a restart forgets nothing.
 */
import type { Rate, RateLimit } from '../contract/operations.js';
import type { RateCounts, RateTake, RateTaken } from '../contract/rate-counts.js';
import { FlywheelError } from '../errors/flywheel-error.js';

export interface RateDecision {
  readonly allowed: boolean;
  /** Requests that may follow at once. */
  readonly remaining: number;
  /** Whole seconds until all points are there again. */
  readonly resetSeconds: number;
  /** Whole seconds after which a refused request is allowed; 0 for an allowed one. */
  readonly retryAfterSeconds: number;
}

export interface RateLimiter {
  /** Counts one request. A refused one is not counted. @throws `ERR_UNAVAILABLE` when it cannot be written down. */
  take(keyId: string, limit: RateLimit): Promise<RateDecision>;
}

const US_PER_SECOND = 1_000_000;

function rateTake(keyId: string, { name, points, windowSeconds }: RateLimit): RateTake {
  // Rounded down, so that all points fit into the period.
  const intervalUs = Math.max(1, Math.floor((windowSeconds * US_PER_SECOND) / points));
  return { key: `${name}:${keyId}`, intervalUs, periodUs: intervalUs * points };
}

const wholeSeconds = (us: number): number => Math.max(1, Math.ceil(us / US_PER_SECOND));

function decide({ intervalUs, periodUs }: RateTake, { allowed, wholeAfterUs }: RateTaken): RateDecision {
  const freeUs = periodUs - wholeAfterUs;
  return {
    allowed,
    remaining: allowed ? Math.floor(freeUs / intervalUs) : 0,
    resetSeconds: wholeSeconds(wholeAfterUs),
    retryAfterSeconds: allowed ? 0 : wholeSeconds(intervalUs - freeUs),
  };
}

interface Waiting {
  readonly request: RateTake;
  readonly resolve: (decision: RateDecision) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A limiter on counts that several servers may share. The first request of a turn of the event loop is counted at once; those after
 * it, and what comes while some are being counted, in one go.
 */
export function createRateLimiter(counts: RateCounts): RateLimiter {
  let waiting: Waiting[] = [];
  let isCounting = false;
  const count = async (): Promise<void> => {
    const batch = waiting;
    waiting = [];
    isCounting = batch.length > 0;
    if (!isCounting) return;
    try {
      const taken = await counts.take(batch.map(({ request }) => request));
      for (const [at, { request, resolve }] of batch.entries())
        resolve(decide(request, taken[at] as RateTaken));
    } catch (cause) {
      const options = { cause, retryAfterSeconds: 1 };
      const error = new FlywheelError('ERR_UNAVAILABLE', 'The rate limit cannot be written down.', options);
      for (const { reject } of batch) reject(error);
    }
    setImmediate(count);
  };
  return {
    take: (keyId, limit) =>
      new Promise((resolve, reject) => {
        waiting.push({ request: rateTake(keyId, limit), resolve, reject });
        if (!isCounting) void count();
      }),
  };
}

/** How much wider than the limit itself the limit of its repeats is (contract, section 1.5). */
const REPEATS_PER_REQUEST = 10;

/** The limit of requests that may be repeats: they cost a look-up, and burn nothing. */
export const repeatLimit = ({ name, points, windowSeconds }: RateLimit): RateLimit => ({
  name: `${name}-repeat`,
  points: points * REPEATS_PER_REQUEST,
  windowSeconds,
});

/** A limit with another rate, such as one that a key has of its own. */
export const withRate = (limit: RateLimit, rate: Rate | undefined): RateLimit => ({ ...limit, ...rate });
