/**
 * Counts requests per API key and operation in fixed windows, correct over restarts.
 *
 * The counting is rate-limiter-flexible's, in memory, so that nothing can come between reading and adding. Before a request
 * goes on, its count is written down together with those of all requests of the same turn of the event loop; a server that
 * is killed and started again goes on counting where it was.
 */
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { RateLimit } from '../contract/operations.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Clock } from '../values/time.js';

export interface RateDecision {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Whole seconds until the window ends; waiting so long is enough. */
  readonly resetSeconds: number;
}

export interface RateLimiter {
  /** Counts one request. A refused one is not counted. */
  consume(keyId: string, limit: RateLimit): Promise<RateDecision>;
}

/** How many requests a window has seen, and when it ends. */
export interface RateCount {
  readonly key: string;
  readonly points: number;
  readonly expiresAtMs: number;
}

/** Where counts outlive the process; both methods are synchronous and quick. */
export interface RateCounts {
  /** Counts whose window has not ended yet. */
  load(nowMs: number): readonly RateCount[];
  /** Writes all or none. */
  save(counts: readonly RateCount[], nowMs: number): void;
}

const nothingKept: RateCounts = { load: () => [], save: () => undefined };

const keyOf = (keyId: string, limit: RateLimit): string => `${limit.name}:${keyId}`;

/** Gathers the counts of one turn of the event loop and writes them once. */
class CountWriter {
  readonly #counts: RateCounts;
  readonly #clock: Clock;
  #pending = new Map<string, RateCount>();
  #flush: Promise<void> | undefined;

  constructor(counts: RateCounts, clock: Clock) {
    this.#counts = counts;
    this.#clock = clock;
  }

  add(count: RateCount): Promise<void> {
    this.#pending.set(count.key, count);
    this.#flush ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        const batch = [...this.#pending.values()];
        this.#pending = new Map();
        this.#flush = undefined;
        try {
          this.#counts.save(batch, this.#clock.nowMs());
          resolve();
        } catch (cause) {
          reject(
            new FlywheelError('ERR_UNAVAILABLE', 'The rate limit cannot be written down.', {
              cause,
              retryAfterSeconds: 1,
            }),
          );
        }
      });
    });
    return this.#flush;
  }
}

const decision = (result: RateLimiterRes, allowed: boolean): RateDecision => ({
  allowed,
  remaining: allowed ? result.remainingPoints : 0,
  resetSeconds: Math.max(1, Math.ceil(result.msBeforeNext / 1_000)),
});

async function tryConsume(
  counter: RateLimiterMemory,
  key: string,
): Promise<{ readonly allowed: boolean; readonly result: RateLimiterRes }> {
  try {
    return { allowed: true, result: await counter.consume(key) };
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return { allowed: false, result: refused };
    throw refused;
  }
}

/** A limiter for one server process; `counts` keeps it correct over restarts. */
export function createRateLimiter(deps: {
  readonly clock: Clock;
  readonly counts?: RateCounts;
}): RateLimiter {
  const counts = deps.counts ?? nothingKept;
  const writer = new CountWriter(counts, deps.clock);
  const kept = new Map(counts.load(deps.clock.nowMs()).map((count) => [count.key, count]));
  const counters = new Map<string, RateLimiterMemory>();

  const counterOf = (limit: RateLimit): RateLimiterMemory => {
    const name = `${limit.name}/${limit.points}/${limit.windowSeconds}`;
    let counter = counters.get(name);
    if (counter === undefined) {
      counter = new RateLimiterMemory({ points: limit.points, duration: limit.windowSeconds, keyPrefix: '' });
      counters.set(name, counter);
    }
    return counter;
  };

  const restore = async (counter: RateLimiterMemory, key: string): Promise<void> => {
    const count = kept.get(key);
    if (count === undefined) return;
    kept.delete(key);
    const leftMs = count.expiresAtMs - deps.clock.nowMs();
    if (leftMs > 0) await counter.set(key, count.points, leftMs / 1_000);
  };

  return {
    async consume(keyId, limit) {
      const key = keyOf(keyId, limit);
      const counter = counterOf(limit);
      if (kept.size > 0) await restore(counter, key);
      const { allowed, result } = await tryConsume(counter, key);
      if (allowed) {
        const expiresAtMs = deps.clock.nowMs() + result.msBeforeNext;
        await writer.add({ key, points: result.consumedPoints, expiresAtMs });
      }
      return decision(result, allowed);
    },
  };
}
