/** The chain as a node shows it: what was sent is in the newest block at once, and blocks become confirmed and final. */
import type { AccountState } from '../chain/account.js';
import type { Signature } from '../chain/chain.js';
import { ADDRESS_LOOKUP_TABLE_PROGRAM } from '../chain/programs.js';
import { type Address, addressBytes } from '../values/address.js';
import { readBuffer } from '../values/bytes.js';
import type { AccountSource, KeptTransaction, NodeLedger, Run } from './node-ledger.js';

/** How sure a block is: the newest; one that most have voted for; one that is never taken back. */
export type Commitment = 'processed' | 'confirmed' | 'finalized';

export const COMMITMENTS = ['processed', 'confirmed', 'finalized'] as const satisfies readonly Commitment[];

/** A transaction in the block of a slot. */
export interface Landed extends Omit<KeptTransaction, 'slot' | 'place'> {
  readonly slot: number;
  /** Its accounts before and after; `null` where this node has not run it itself. */
  readonly run: Run | null;
  /** In the order of the ledger; `null` for what is not in it. */
  readonly place: number | null;
}

/** A transaction that a node was given. */
export interface SentTransaction {
  readonly signature: Signature;
  readonly wire: Uint8Array;
  /** Base58. */
  readonly blockhash: string;
  /** May it be tried again? */
  readonly isRetried: boolean;
}

/** The slot in which a ledger begins. */
export const FIRST_SLOT = 1_000;
/** Slots after which a block is at a level. */
const LAGS: Readonly<Record<Commitment, number>> = { processed: 0, confirmed: 2, finalized: 31 };
/** Slots that programs take for recent (solana-slot-hashes, `MAX_ENTRIES`). */
const MAX_RECENT_SLOTS = 512;
/** Runs that are remembered at most. */
const MAX_RUNS = 20_000;
const LOOKUP_TABLES = readBuffer(addressBytes(ADDRESS_LOOKUP_TABLE_PROGRAM));

/** One cluster on one ledger, to which others may write as well. */
export class Cluster {
  readonly ledger: NodeLedger;
  readonly #runs = new Map<Signature, Run>();

  constructor(ledger: NodeLedger) {
    this.ledger = ledger;
  }

  /** The newest slot at a level. */
  slotOf(commitment: Commitment): number {
    return Math.max(FIRST_SLOT, this.ledger.slot() - LAGS[commitment]);
  }

  /** The oldest slot of which there is the block. */
  get firstSlot(): number {
    return FIRST_SLOT;
  }

  blockhashOf(slot: number): string {
    return this.ledger.blockhash(slot);
  }

  /** May the block of a slot take a transaction with this blockhash? */
  isGoodBlockhash(blockhash: string, slot: number): boolean {
    return this.ledger.isGoodBlockhash(blockhash, slot);
  }

  /** An account; at every level it is as the newest block has left it. */
  accountAt(address: Address, _slot: number): AccountState | null {
    return this.ledger.get(address) ?? this.ledger.builtIn(address);
  }

  accounts(_slot: number): Iterable<readonly [Address, AccountState]> {
    return this.ledger.accounts();
  }

  /** A transaction in a block of a slot up to this one. */
  find(signature: Signature, slot: number): Landed | null {
    const kept = this.ledger.find(signature);
    const landed = kept && this.#landedOf(kept);
    return landed !== null && landed.slot <= slot ? landed : null;
  }

  /** Transactions that may name an address, newest first, from before a place on, until `take` says `false`. */
  search(address: Address, before: number | null, take: (landed: Landed) => boolean): void {
    this.ledger.search(address, before, (kept) => take(this.#landedOf(kept)));
  }

  /** Tries a transaction out in the newest slot; nothing is kept. */
  run(wire: Uint8Array, source: AccountSource, options: { readonly verifySignatures: boolean }): Run {
    const slot = this.ledger.slot();
    this.#tellSlots([wire], slot);
    return this.ledger.run(wire, source, slot, options);
  }

  /** Takes a transaction; one that cannot land is forgotten. */
  submit(transaction: SentTransaction): void {
    this.land([transaction]);
  }

  /** Called about once a slot. */
  tick(): void {}

  /** Puts transactions into the newest block, in order. @returns those that could not start. */
  protected land(transactions: readonly SentTransaction[]): readonly SentTransaction[] {
    const wires = transactions.map(({ wire }) => wire);
    this.#tellSlots(wires, this.ledger.slot());
    const runs = this.ledger.land(wires);
    for (const [at, run] of runs.entries())
      if (run?.landed === true) this.#remember((transactions[at] as SentTransaction).signature, run);
    return transactions.filter((_, at) => runs[at]?.landed === false);
  }

  #remember(signature: Signature, run: Run): void {
    this.#runs.set(signature, run);
    const oldest = this.#runs.keys().next();
    if (this.#runs.size > MAX_RUNS && oldest.done !== true) this.#runs.delete(oldest.value);
  }

  #landedOf(kept: KeptTransaction): Landed {
    return { ...kept, slot: Number(kept.slot), run: this.#runs.get(kept.signature) ?? null };
  }

  /** Making a lookup table takes a recent slot; all else does not ask, and is not made to wait for the list. */
  #tellSlots(wires: readonly Uint8Array[], newest: number): void {
    if (!wires.some((wire) => readBuffer(wire).includes(LOOKUP_TABLES))) return;
    const count = Math.min(MAX_RECENT_SLOTS, newest - FIRST_SLOT + 1);
    const slots = Array.from({ length: count }, (_, back) => newest - back);
    this.ledger.setRecentSlots(slots.map((slot) => ({ slot, hash: this.blockhashOf(slot) })));
  }
}
