/** How far a burn-batch is, on stderr. */
import type { ElementOutcome } from '../../contract/call.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { saysNothingWasDone } from '../operation/verdicts.js';
import type { Measured } from '../output/measure.js';
import { countText, grouped } from '../views/unit.js';
import type { Part } from './stages.js';

export class BurnBatchProgress {
  readonly #session: Session;
  readonly #total: number;
  #done = 0;
  #failed = 0;
  /** How many elements will have their outcome when the request that was sent has its answer. */
  #sentUpTo = 0;

  constructor(session: Session, parts: readonly { readonly part: Part }[]) {
    this.#session = session;
    this.#total = parts.reduce((total, { part }) => total + part.size, 0);
  }

  readonly #look = (): Measured => ({
    noun: 'element',
    done: this.#done,
    failed: this.#failed,
    total: this.#total,
  });

  /** A request goes out. */
  send({ size }: Part): void {
    this.#sentUpTo = this.#done + size;
    this.#session.output.progress.measure(this.#look);
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
  }
}
