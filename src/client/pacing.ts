/** Time: waiting ahead of a limit that the service named, and in total never longer than allowed. */
import type { RateLimitState } from '../contract/call.js';
import type { Clock } from '../values/time.js';

/** Keeps what is left of each operation's limit. */
export class Pacer {
  readonly #clock: Clock;
  readonly #windows = new Map<string, { remaining: number; resetAtMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The service's word replaces ours. */
  learn(operation: string, state: RateLimitState): void {
    this.#windows.set(operation, {
      remaining: state.remaining,
      resetAtMs: this.#clock.nowMs() + state.resetSeconds * 1_000,
    });
  }

  /** Counts one request; the milliseconds to wait before it is sent. */
  take(operation: string): number {
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
