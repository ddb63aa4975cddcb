/**
 * Blocks that come to nothing: a fork lies over the ledger in memory, its transactions can be read and confirmed like any
 * others, and then the cluster goes on without it.
 */
import type { AccountState } from '../chain/account.js';
import type { Signature } from '../chain/chain.js';
import type { Address } from '../values/address.js';
import { AccountVersions } from './account-versions.js';
import type { Landed } from './landed.js';
import type { Run } from './node-ledger.js';
import type { PendingTransaction } from './pending.js';

/** A fork from a slot on, up to the slot in which the cluster leaves it. */
export class Fork {
  readonly id: number;
  readonly fromSlot: number;
  readonly untilSlot: number;
  readonly #accounts = new AccountVersions();
  readonly #landed = new Map<Signature, Landed>();
  readonly #sent: PendingTransaction[] = [];

  constructor(id: number, fromSlot: number, untilSlot: number) {
    this.id = id;
    this.fromSlot = fromSlot;
    this.untilSlot = untilSlot;
  }

  /** The state of an account that the fork has changed by the end of a slot; else `undefined`. */
  get(address: Address, slot: number): AccountState | null | undefined {
    return this.#accounts.get(address, slot);
  }

  find(signature: Signature): Landed | undefined {
    return this.#landed.get(signature);
  }

  /** Newest first. */
  landed(): readonly Landed[] {
    return [...this.#landed.values()].reverse();
  }

  /** All that it has changed. */
  changed(): Iterable<Address> {
    return this.#accounts.addresses();
  }

  /** Every transaction that was put into its blocks. */
  sent(): readonly PendingTransaction[] {
    return this.#sent;
  }

  add(transaction: PendingTransaction, landed: Landed, run: Run): void {
    this.#sent.push(transaction);
    this.#landed.set(transaction.signature, landed);
    for (const { address, before, after } of run.accounts)
      if (after !== before) this.#accounts.set(address, landed.slot, after);
  }
}
