/** How far a burn-batch is, on stderr. */
import type { ElementOutcome } from '../../contract/call.js';
import type { Session } from '../command.js';
import type { Part } from './stages.js';

/** Elements between two lines. */
const STEP = 50;

export class BurnBatchProgress {
  readonly #session: Session;
  readonly #total: number;
  readonly #startedMs: number;
  #done = 0;
  #failed = 0;

  constructor(session: Session, parts: readonly { readonly part: Part }[]) {
    this.#session = session;
    this.#total = parts.reduce((total, { part }) => total + part.indexes.length, 0);
    this.#startedMs = session.context.clock.nowMs();
  }

  /** Says how far it came when it cannot go on. */
  stop(): void {
    if (this.#done === 0 || this.#done === this.#total) return;
    this.#session.output.warn(
      `${this.#done} of ${this.#total} elements have their outcome; the same command goes on from there.`,
    );
  }

  /** Counts one element that has its outcome. */
  count(outcome: ElementOutcome): void {
    this.#done += 1;
    if (outcome.status === 'error') this.#failed += 1;
    if (this.#done % STEP !== 0 && this.#done !== this.#total) return;
    const elapsedMs = this.#session.context.clock.nowMs() - this.#startedMs;
    const leftSeconds = Math.ceil(((elapsedMs / this.#done) * (this.#total - this.#done)) / 1_000);
    this.#session.output.progress.show(
      `${this.#done} of ${this.#total} elements, ${this.#failed} failed, about ${leftSeconds} s left`,
    );
  }
}
