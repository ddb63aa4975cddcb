/** Waiting: ahead of a limit that the service told of, and in total never longer than allowed. */
import type { RateLimitState } from '../contract/call.js';
import type { OperationId } from '../contract/operations.js';
import type { Clock } from '../values/time.js';

/** Remembers what is left of each operation's limit. */
export class Pacer {
  readonly #clock: Clock;
  readonly #windows = new Map<OperationId, { remaining: number; resetAtMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The service's word replaces ours. */
  learn(operation: OperationId, state: RateLimitState): void {
    this.#windows.set(operation, {
      remaining: state.remaining,
      resetAtMs: this.#clock.nowMs() + state.resetSeconds * 1_000,
    });
  }

  /** Counts one request; the milliseconds to wait before it is sent. */
  take(operation: OperationId): number {
    const window = this.#windows.get(operation);
    const nowMs = this.#clock.nowMs();
    if (window === undefined) return 0;
    if (nowMs >= window.resetAtMs) {
      this.#windows.delete(operation);
      return 0;
    }
    if (window.remaining > 0) {
      window.remaining -= 1;
      return 0;
    }
    return window.resetAtMs - nowMs;
  }
}

/** All the waiting that one call may do. */
export class WaitBudget {
  #leftMs: number;

  constructor(maxWaitMs: number) {
    this.#leftMs = maxWaitMs;
  }

  /** Takes the time from the budget; false, and nothing is taken, when it is longer than what is left. */
  spend(ms: number): boolean {
    if (ms > this.#leftMs) return false;
    this.#leftMs -= ms;
    return true;
  }

  get leftMs(): number {
    return this.#leftMs;
  }
}
