/** A clock that runs as the system's does, and can be set forward. */

const DAY_MS = 86_400_000;

export class RunningClock {
  #aheadMs = 0;

  nowMs(): number {
    return Date.now() + this.#aheadMs;
  }

  /** Lets so much time pass at once. */
  pass(durationMs: number): void {
    this.#aheadMs += durationMs;
  }

  /** Lets time pass until it is noon (UTC) of the next day: far from both midnights. */
  passToNextNoon(): void {
    const nextDay = Math.floor(this.nowMs() / DAY_MS) + 1;
    this.pass(nextDay * DAY_MS + DAY_MS / 2 - this.nowMs());
  }
}
