/** The clock of the server: its time comes with every transaction; what it says meanwhile is followed by the clocks of this machine. */
import type { Clock } from '../../values/time.js';

/** Both clocks of this machine: one may be set, the other may stand still while the machine sleeps. */
interface LocalTime {
  readonly wallMs: number;
  readonly steadyMs: number;
}

export class ServerClock {
  readonly #clock: Clock;
  #known: { readonly serverMs: number; readonly before: LocalTime } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  localNow(): LocalTime {
    return { wallMs: this.#clock.nowMs(), steadyMs: performance.now() };
  }

  /** @param before - when the server had not been asked yet. */
  tell(serverMs: number, before: LocalTime): void {
    this.#known = { serverMs, before };
  }

  /** No later than by what has passed since before it was asked, by that of the two clocks that went further; before the first transaction there is nothing to go by. */
  latestMs(): number {
    const now = this.localNow();
    if (this.#known === undefined) return now.wallMs;
    const { serverMs, before } = this.#known;
    return serverMs + Math.max(0, now.wallMs - before.wallMs, now.steadyMs - before.steadyMs);
  }
}
