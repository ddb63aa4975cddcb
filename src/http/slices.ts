/** Shares the thread between long computations and everything else: of all of them together a little is done each turn. */
import { giveTurns } from '../values/turns.js';

/** What is done before the event loop turns. */
const SLICE_MS = 5;

interface Job {
  /** @returns whether it was the last. */
  step(): boolean;
  reject(error: unknown): void;
}

/** Runs computations side by side, none of them for long. */
export class Slices {
  readonly #jobs: Job[] = [];
  #isScheduled = false;

  /**
   * Runs steps to their end; each must be short.
   * @returns what they return.
   * @throws what a step throws.
   */
  run<Value>(steps: Iterator<unknown, Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const step = (): boolean => {
        const { done, value } = steps.next();
        if (done === true) resolve(value);
        return done === true;
      };
      this.#jobs.push({ step, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#jobs.length === 0) return;
    this.#isScheduled = true;
    void giveTurns().then(() => {
      this.#isScheduled = false;
      const endMs = performance.now() + SLICE_MS;
      do this.#step();
      while (this.#jobs.length > 0 && performance.now() < endMs);
      this.#schedule();
    });
  }

  /** One step of the job whose turn it is; it queues up behind the others then. */
  #step(): void {
    const job = this.#jobs.shift();
    if (job === undefined) return;
    try {
      if (!job.step()) this.#jobs.push(job);
    } catch (error) {
      job.reject(error);
    }
  }
}
