/** How far a burn-batch is, on stderr. */
import type { ElementOutcome } from '../../contract/call.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { saysNothingWasDone } from '../operation/verdicts.js';
import { countText, grouped } from '../views/unit.js';
import type { Part } from './stages.js';

/** Elements between two lines. */
const STEP = 50;

export class BurnBatchProgress {
  readonly #session: Session;
  readonly #total: number;
  readonly #startedMs: number;
  #done = 0;
  #failed = 0;
  /** How many elements will have their outcome when the request that was sent has its answer. */
  #sentUpTo = 0;

  constructor(session: Session, parts: readonly { readonly part: Part }[]) {
    this.#session = session;
    this.#total = parts.reduce((total, { part }) => total + part.indexes.length, 0);
    this.#startedMs = session.context.clock.nowMs();
  }

  /** A request goes out. */
  send({ indexes }: Part): void {
    this.#sentUpTo = this.#done + indexes.length;
  }

  /** Says how far it came when it cannot go on. @param reason - of that; some say that the request did nothing. */
  stop(reason: unknown): void {
    if (this.#done === 0 || this.#done === this.#total) return;
    const wasSent = !(isFlywheelError(reason) && saysNothingWasDone(reason));
    const unknown = wasSent ? Math.max(0, this.#sentUpTo - this.#done) : 0;
    const parts = [
      `${grouped(this.#done - this.#failed)} burned`,
      `${grouped(this.#failed)} failed`,
      `${grouped(unknown)} not known`,
      `${grouped(this.#total - this.#done - unknown)} not attempted`,
    ];
    this.#session.output.warn(
      `Of ${countText(this.#total, 'element')}: ${parts.join(', ')}; the same command goes on from there.`,
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
