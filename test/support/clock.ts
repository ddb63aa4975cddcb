/** The system clock, which a test can set forward. */

const DAY_MS = 86_400_000;

export class RunningClock {
  #aheadMs = 0;

  nowMs(): number {
    return Date.now() + this.#aheadMs;
  }

  pass(durationMs: number): void {
    this.#aheadMs += durationMs;
  }

  /** Noon (UTC) is far from both midnights, where caps reset. */
  passToNextNoon(): void {
    const nextDay = Math.floor(this.nowMs() / DAY_MS) + 1;
    this.pass(nextDay * DAY_MS + DAY_MS / 2 - this.nowMs());
  }
}
