/** The chain as a node shows it: what was sent is in the newest block at once, and blocks become confirmed and final. */
import type { AccountState } from '../chain/account.js';
import { BLOCKHASH_LIFETIME_BLOCKS, type Signature } from '../chain/chain.js';
import { ADDRESS_LOOKUP_TABLE_PROGRAM } from '../chain/programs.js';
import { type Address, addressBytes } from '../values/address.js';
import { base58Decode, base58Encode } from '../values/base58.js';
import { readBuffer } from '../values/bytes.js';
import type { AccountSource, KeptTransaction, NodeLedger, Run } from './node-ledger.js';
import { blockhashOf, FIRST_SLOT, type Timeline } from './timeline.js';

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

/** Slots after which a block is at a level. */
const LAGS: Readonly<Record<Commitment, number>> = { processed: 0, confirmed: 2, finalized: 31 };
/** Slots that programs take for recent (solana-slot-hashes, `MAX_ENTRIES`). */
const MAX_RECENT_SLOTS = 512;
const LIFETIME = Number(BLOCKHASH_LIFETIME_BLOCKS);
/** Runs, and hashes of blocks, that are remembered at most. */
const MAX_RUNS = 20_000;
const MAX_HASHES = 4_096;
const LOOKUP_TABLES = readBuffer(addressBytes(ADDRESS_LOOKUP_TABLE_PROGRAM));

/** One cluster on one ledger, to which others may write as well. */
export class Cluster {
  readonly ledger: NodeLedger;
  readonly timeline: Timeline;
  readonly #runs = new Map<Signature, Run>();
  readonly #hashes = new Map<number, string>();

  constructor(ledger: NodeLedger, timeline: Timeline) {
    this.ledger = ledger;
    this.timeline = timeline;
  }

  /** The newest slot at a level. */
  slotOf(commitment: Commitment): number {
    return Math.max(FIRST_SLOT, this.timeline.newest() - LAGS[commitment]);
  }

  /** The oldest slot of which there is the block. */
  get firstSlot(): number {
    return FIRST_SLOT;
  }

  blockhashOf(slot: number): string {
    const known = this.#hashes.get(slot);
    if (known !== undefined) return known;
    const hash = blockhashOf(this.ledger.genesisHash, slot);
    if (this.#hashes.size >= MAX_HASHES) this.#hashes.clear();
    this.#hashes.set(slot, hash);
    return hash;
  }

  /** May the block of a slot take a transaction with this blockhash? */
  isGoodBlockhash(blockhash: string, slot: number): boolean {
    for (let born = slot; born >= Math.max(FIRST_SLOT, slot - LIFETIME); born -= 1)
      if (this.blockhashOf(born) === blockhash) return true;
    const bytes = base58Decode(blockhash);
    return bytes !== undefined && this.ledger.isGoodBlockhash(bytes, this.timeline.startMs(slot));
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

  /** Tries a transaction out on a state of a slot; nothing is kept. */
  run(
    wire: Uint8Array,
    source: AccountSource,
    slot: number,
    options: { readonly verifySignatures: boolean },
  ): Run {
    this.#tellSlots([wire], slot);
    return this.ledger.run(wire, source, this.timeline.startMs(slot), options);
  }

  /** Takes a transaction; one that cannot land is forgotten. */
  submit(transaction: SentTransaction): void {
    this.land([transaction], this.timeline.newest());
  }

  /** Called about once a slot. */
  tick(): void {}

  /** Puts transactions into the block of a slot, in order. @returns those that could not start. */
  protected land(transactions: readonly SentTransaction[], slot: number): readonly SentTransaction[] {
    const wires = transactions.map(({ wire }) => wire);
    this.#tellSlots(wires, slot);
    const runs = this.ledger.land(wires, this.timeline.startMs(slot), (blockhash, blockMs) =>
      this.isGoodBlockhash(base58Encode(blockhash), this.timeline.slotOfBlock(blockMs)),
    );
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
    const slot = this.timeline.slotOfBlock(kept.blockTimeMs);
    return { ...kept, slot, run: this.#runs.get(kept.signature) ?? null };
  }

  /** Making a lookup table takes a recent slot; all else does not ask, and is not made to wait for the list. */
  #tellSlots(wires: readonly Uint8Array[], newest: number): void {
    if (!wires.some((wire) => readBuffer(wire).includes(LOOKUP_TABLES))) return;
    const count = Math.min(MAX_RECENT_SLOTS, newest - FIRST_SLOT + 1);
    const slots = Array.from({ length: count }, (_, back) => newest - back);
    this.ledger.setRecentSlots(slots.map((slot) => ({ slot, hash: this.blockhashOf(slot) })));
  }
}
