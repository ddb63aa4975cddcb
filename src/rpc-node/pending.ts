/** Transactions that the node has taken and that are in no block yet: when each is tried, and how often. */
import type { Signature } from '../chain/chain.js';

/** What is done to a transaction on its way; {@link NO_FATE} for all that is well. */
export interface Fate {
  /** Slots for which it lies about first. */
  readonly lateSlots: number;
  /** It goes to the leaders twice. */
  readonly isTwice: boolean;
  /** It changes places with others of its block. */
  readonly isShuffled: boolean;
  /** It lies about until its blockhash is too old, and so does every repeat of it. */
  readonly isHeld: boolean;
  /** Slots for which its block is on a fork that comes to nothing; 0 for none. */
  readonly forkSlots: number;
  /** Is it forgotten with its fork? Else it lands once more. */
  readonly isLost: boolean;
}

export const NO_FATE: Fate = {
  lateSlots: 0,
  isTwice: false,
  isShuffled: false,
  isHeld: false,
  forkSlots: 0,
  isLost: false,
};

/** A transaction on its way into a block. */
export interface PendingTransaction {
  readonly signature: Signature;
  readonly wire: Uint8Array;
  /** Base58. */
  readonly blockhash: string;
  readonly fate: Fate;
  /** Is it tried again while its blockhash is good? */
  readonly isRetried: boolean;
}

interface Waiting {
  readonly transaction: PendingTransaction;
  readonly dueSlot: number;
}

/** Transactions that wait at most; a node forgets the oldest first. */
const MAX_WAITING = 20_000;

/** The queue to the leaders. */
export class Pending {
  #waiting: Waiting[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  add(transaction: PendingTransaction, dueSlot: number): void {
    if (this.#waiting.length >= MAX_WAITING) this.#waiting.shift();
    this.#waiting.push({ transaction, dueSlot });
  }

  /** Takes out what may go into the block of a slot, in the order of arrival. */
  takeDue(slot: number): readonly PendingTransaction[] {
    const due = this.#waiting.filter(({ dueSlot }) => dueSlot <= slot);
    if (due.length > 0) this.#waiting = this.#waiting.filter(({ dueSlot }) => dueSlot > slot);
    return due.map(({ transaction }) => transaction);
  }
}
