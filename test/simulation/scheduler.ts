/** Picks the next of all waiting steps by seed, one at a time, on a virtual clock. */
import { setImmediate } from 'node:timers/promises';
import type { Random } from '../fuzz/random.js';

/** Takes steps: a simulated process, a person, or the world. */
export interface Walker {
  readonly name: string;
}

interface Step {
  readonly walker: Walker;
  readonly label: string;
  /** Earliest virtual time, unless no other step can run. */
  readonly dueMs: number;
  readonly go: () => void;
}

export interface Nap {
  readonly over: Promise<boolean>;
  cancel(): void;
}

/** Turns of the event loop without a new step after which the running work is idle. */
const QUIET_TURNS = 2;
/**
 * Turns to wait for the first step, some milliseconds: signatures use the thread pool, and work that waits for other work takes
 * no steps.
 */
const MAX_TURNS = 2_000;
/** Once in this many choices a sleeping step runs before ready ones: timers race with work. */
const EARLY_SLEEPER = 150;
/** Milliseconds that a step may take, at most. */
const STEP_MS = 12;
/** Choices between two changes of the preferred walker. */
const CHANGE_EVERY = 40;

export class Scheduler {
  readonly #random: Random;
  readonly #say: (line: string) => void;
  readonly #preferring: boolean;
  readonly #finishing = new Set<Promise<unknown>>();
  #waiting: Step[] = [];
  #preferred: Walker | undefined;
  #registered = 0;
  /** Monotonic time, for timers; only the wall clock is ever set. */
  #timeMs = 0;
  #setMs: number;
  #steps = 0;
  #isCalm = false;

  constructor(random: Random, startMs: number, say: (line: string) => void) {
    this.#random = random;
    this.#setMs = startMs;
    this.#say = say;
    // Half of the seeds let one walker run far ahead, which finds other bugs than a fair choice.
    this.#preferring = random.oneIn(2);
  }

  get nowMs(): number {
    return this.#timeMs + this.#setMs;
  }

  get timeMs(): number {
    return this.#timeMs;
  }

  get steps(): number {
    return this.#steps;
  }

  /** From now on no step is slower than a timer. */
  calm(): void {
    this.#isCalm = true;
  }

  /** Sets the wall clock, forward or back. */
  jump(ms: number): void {
    this.#setMs += ms;
  }

  reach(walker: Walker, label: string, dueMs = 0): Promise<void> {
    this.#registered += 1;
    return new Promise((go) => {
      this.#waiting.push({ walker, label, dueMs, go });
    });
  }

  /** A cancellable step; resolves to false if it was cancelled. @param isAwaited - `false` for a timer */
  sleep(walker: Walker, label: string, dueMs: number, isAwaited: boolean): Nap {
    let step: Step | undefined;
    let end: (reached: boolean) => void = () => undefined;
    const over = new Promise<boolean>((resolve) => {
      end = resolve;
      step = { walker, label, dueMs, go: () => resolve(true) };
      this.#waiting.push(step);
      if (isAwaited) this.#registered += 1;
    });
    return {
      over,
      cancel: () => {
        this.#waiting = this.#waiting.filter((one) => one !== step);
        end(false);
      },
    };
  }

  drop(walker: Walker): void {
    this.#waiting = this.#waiting.filter((step) => step.walker !== walker);
  }

  /** Work without steps that has to end before the next step. */
  finish(work: Promise<unknown>): void {
    const finished = work.catch(() => undefined).finally(() => this.#finishing.delete(finished));
    this.#finishing.add(finished);
  }

  /** Runs steps until none waits. @param after - runs after each. */
  async run(after: () => void, maxSteps: number): Promise<void> {
    await this.#rest(this.#registered);
    while (this.#waiting.length > 0 && this.#steps < maxSteps) {
      const step = this.#choose();
      this.#waiting = this.#waiting.filter((one) => one !== step);
      this.#steps += 1;
      this.#timeMs = Math.max(this.#timeMs + this.#random.below(STEP_MS), step.dueMs);
      this.#say(`${this.#steps} ${new Date(this.nowMs).toISOString()} ${step.walker.name}: ${step.label}`);
      const before = this.#registered;
      step.go();
      await this.#rest(before);
      after();
    }
  }

  #choose(): Step {
    const ready = this.#waiting.filter(({ dueMs }) => dueMs <= this.#timeMs);
    const isEarly = !this.#isCalm && ready.length < this.#waiting.length && this.#random.oneIn(EARLY_SLEEPER);
    if (ready.length === 0 || isEarly)
      return this.#earliest(this.#waiting.filter(({ dueMs }) => dueMs > this.#timeMs));
    if (!this.#preferring) return this.#random.pick(ready);
    if (this.#random.oneIn(CHANGE_EVERY)) this.#preferred = this.#random.pick(ready).walker;
    const preferred = ready.filter(({ walker }) => walker === this.#preferred);
    return this.#random.pick(preferred.length > 0 ? preferred : ready);
  }

  #earliest(steps: readonly Step[]): Step {
    return steps.reduce((first, step) => (step.dueMs < first.dueMs ? step : first));
  }

  /** Waits until all running work waits for a step again. */
  async #rest(before: number): Promise<void> {
    let quiet = 0;
    let known = before;
    for (let turn = 0; turn < MAX_TURNS; turn += 1) {
      while (this.#finishing.size > 0) await Promise.all(this.#finishing);
      await setImmediate();
      quiet = this.#registered === known ? quiet + 1 : 0;
      known = this.#registered;
      if (quiet >= QUIET_TURNS && (known > before || this.#finishing.size > 0)) return;
    }
  }
}
