/** What is known of each element of a request, and which of that is not stored yet. */
import type { Call, ElementOutcome } from '../../contract/call.js';
import type { BurnShape } from '../../contract/schemas/burn.js';
import { invariant } from '../../errors/flywheel-error.js';
import type { SettledBurn } from './chunk.js';
import { type Ended, outcomeOf } from './outcomes.js';
import { burnError, type Refusal } from './prepare-burns.js';

export class Tally {
  readonly #inputs: readonly BurnShape[];
  readonly #onElement: Call['onElement'];
  readonly #outcomes = new Map<number, ElementOutcome>();
  #unwritten: readonly SettledBurn[] = [];
  #announced = 0;

  constructor(inputs: readonly BurnShape[], onElement: Call['onElement']) {
    this.#inputs = inputs;
    this.#onElement = onElement;
  }

  /** Outcomes that are known and not written yet; they go into the next transaction. */
  get unwritten(): readonly SettledBurn[] {
    return this.#unwritten;
  }

  /** These are written, the first of {@link unwritten}; others may have become known meanwhile. */
  forget(written: readonly SettledBurn[]): void {
    this.#unwritten = this.#unwritten.slice(written.length);
    this.announce();
  }

  settle(settled: readonly SettledBurn[]): void {
    for (const burn of settled) this.record(burn);
    this.#unwritten = [...this.#unwritten, ...settled];
  }

  record(burn: Ended): void {
    const input = this.#inputs[burn.index];
    if (input !== undefined) this.#outcomes.set(burn.index, outcomeOf(burn, input));
  }

  refuse(index: number, refusal: Refusal): void {
    const input = this.#inputs[index];
    if (input !== undefined)
      this.#outcomes.set(index, { index, status: 'error', ...burnError(input, refusal) });
  }

  /** All of them, once all are known. */
  inOrder(): readonly ElementOutcome[] {
    return this.#inputs.map((_input, index) => {
      const outcome = this.#outcomes.get(index);
      invariant(outcome !== undefined, 'Every element has an outcome.');
      return outcome;
    });
  }

  /** Says in their order which outcomes are known, once those of burns are stored. */
  announce(): void {
    const unwritten = new Set(this.#unwritten.map(({ index }) => index));
    for (;;) {
      const outcome = this.#outcomes.get(this.#announced);
      if (outcome === undefined || unwritten.has(this.#announced)) return;
      this.#announced += 1;
      this.#onElement?.(outcome);
    }
  }
}
