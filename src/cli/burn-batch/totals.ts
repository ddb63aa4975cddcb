/** What the elements of a burn-batch came to, added up as their outcomes are known. */
import type { ElementOutcome } from '../../contract/call.js';
import type { BurnRequest } from '../../contract/schemas/burn.js';
import { AmountSum } from '../input/amount.js';

/** Elements of one kind and what they are about, in whole tokens. */
export interface Tally {
  readonly elements: number;
  /** Decimal text. */
  readonly amount: string;
}

/** Sums as they are printed. */
export interface Totals {
  readonly burned: Tally;
  readonly failed: Tally;
  /** Burns whose proof is recorded on chain. */
  readonly proofs: number;
}

class Sum {
  #elements = 0;
  readonly #amount = new AmountSum();

  add({ burnAmount }: Pick<BurnRequest, 'burnAmount'>): void {
    this.#elements += 1;
    this.#amount.add(burnAmount);
  }

  get tally(): Tally {
    return { elements: this.#elements, amount: this.#amount.text };
  }
}

/** Adds up. */
export class BurnTotals {
  readonly #burned = new Sum();
  readonly #failed = new Sum();
  #proofs = 0;

  /** Counts an element that has its outcome. */
  count({ status }: Pick<ElementOutcome, 'status'>, burn: BurnRequest): void {
    const isBurned = status === 'success';
    (isBurned ? this.#burned : this.#failed).add(burn);
    if (isBurned && burn.persistOnchain) this.#proofs += 1;
  }

  get sums(): Totals {
    return { burned: this.#burned.tally, failed: this.#failed.tally, proofs: this.#proofs };
  }
}
