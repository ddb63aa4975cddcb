/** The chain as a node shows it: what was sent is in the newest block at once, and blocks become confirmed and final. */
import { type AccountState, type ChainClock, RENT_EPOCH_EXEMPT } from '../chain/account.js';
import type { Signature } from '../chain/chain.js';
import { FIRST_SLOT } from '../chain/local/ledger/clock.js';
import { type LedgerTables, runtimeClock } from '../chain/local/ledger/draft.js';
import type { Ledger } from '../chain/local/ledger/ledger.js';
import type { KeptTransaction } from '../chain/local/ledger/tables.js';
import type { ExecutionResult } from '../chain/local/runtime/execution.js';
import { resolveAccounts } from '../chain/local/runtime/resolve.js';
import type { Runtime } from '../chain/local/runtime/runtime.js';
import type { AccountSource } from '../chain/local/vm/vm.js';
import { ADDRESS_LOOKUP_TABLE_PROGRAM, SQUADS_PROGRAM, UPGRADEABLE_LOADER } from '../chain/programs.js';
import type { AccountMeta } from '../chain/transaction/message.js';
import { decodeTransaction } from '../chain/transaction/wire.js';
import { type Address, addressBytes } from '../values/address.js';
import { base58Decode, base58Encode } from '../values/base58.js';
import { type ReadonlyBytes, readBuffer } from '../values/bytes.js';

/** How sure a block is: the newest; one that most have voted for; one that is never taken back. */
export const LEVELS = ['processed', 'confirmed', 'finalized'] as const;
export type Level = (typeof LEVELS)[number];

/** A transaction in the block of a slot. */
export interface Landed extends Omit<KeptTransaction, 'slot' | 'place' | 'tableAddresses'> {
  readonly slot: number;
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

/** Signs a transfer of what `requestAirdrop` gives. */
export type Airdrop = (to: Address, lamports: bigint, blockhash: string) => Uint8Array;

/** What a cluster is on. */
export interface ClusterParts {
  readonly ledger: Ledger;
  readonly runtime: Runtime;
  readonly airdrop: Airdrop;
  /** Closes the ledger. */
  close(): void;
}

/** Slots after which a block is at a level. */
const LAGS: Readonly<Record<Level, number>> = { processed: 0, confirmed: 2, finalized: 31 };
/** Slots that programs take for recent (solana-slot-hashes, `MAX_ENTRIES`). */
const MAX_RECENT_SLOTS = 512;
const LOOKUP_TABLES = readBuffer(addressBytes(ADDRESS_LOOKUP_TABLE_PROGRAM));

/** As a cluster shows the program that runs natively here. */
const SQUADS_ACCOUNT: AccountState = {
  lamports: 1_141_440n,
  owner: UPGRADEABLE_LOADER,
  data: new Uint8Array(0),
  executable: true,
  rentEpoch: RENT_EPOCH_EXEMPT,
};

/** One cluster on one ledger, to which others may write as well. */
export class Cluster {
  readonly slotMs: number;
  readonly #parts: ClusterParts;

  constructor(parts: ClusterParts) {
    this.#parts = parts;
    this.slotMs = this.#read(({ clock }) => clock.slotMs);
  }

  /** Tells the ledger from all others, base58. */
  get genesis(): string {
    return this.#parts.ledger.genesis;
  }

  get airdrop(): Airdrop {
    return this.#parts.airdrop;
  }

  /** The newest slot of the ledger; never one before another that was told of. */
  newestSlot(): number {
    return this.#read(({ clock }) => clock.slot());
  }

  /** The newest slot at a level. */
  slotOf(commitment: Level): number {
    return Math.max(FIRST_SLOT, this.newestSlot() - LAGS[commitment]);
  }

  /** The oldest slot of which there is the block. */
  get firstSlot(): number {
    return FIRST_SLOT;
  }

  heightOf(slot: number): number {
    return slot - FIRST_SLOT;
  }

  /** Time of the block of a slot, in ms since the Unix epoch. */
  timeMs(slot: number): number {
    return this.#read(({ clock }) => clock.timeMs(slot));
  }

  /** Base58. */
  blockhashOf(slot: number): string {
    return this.#read(({ clock }) => base58Encode(clock.blockhash(slot)));
  }

  /** May the block of a slot take a transaction with this blockhash? */
  isGoodBlockhash(blockhash: string, slot: number): boolean {
    const bytes = base58Decode(blockhash);
    return bytes !== undefined && this.#read(({ clock }) => clock.isGood(bytes, slot));
  }

  /** Transactions that have landed. */
  transactionCount(): number {
    return this.#read(({ transactions }) => transactions.tip.id);
  }

  /** An account; at every level it is as the newest block has left it. */
  accountAt(address: Address, _slot: number): AccountState | null {
    return this.#read(({ accounts }) => accounts.get(address)) ?? this.builtIn(address);
  }

  accounts(_slot: number): Iterable<readonly [Address, AccountState]> {
    return this.#read(({ accounts }) => accounts.all());
  }

  /** A program or sysvar that is no account of the ledger. */
  builtIn(address: Address): AccountState | null {
    return address === SQUADS_PROGRAM ? SQUADS_ACCOUNT : this.#parts.runtime.builtIn(address);
  }

  /** A transaction in a block of a slot up to this one. */
  find(signature: Signature, slot: number): Landed | null {
    const kept = this.#read(({ transactions }) => transactions.kept(signature));
    const landed = kept && this.#landedOf(kept);
    return landed !== null && landed.slot <= slot ? landed : null;
  }

  /** Transactions that name an address, newest first, from before a place on. */
  *past(address: Address, before: number | null): Iterable<Landed> {
    for (const kept of this.#parts.ledger.naming(address, before)) yield this.#landedOf(kept);
  }

  /** The accounts that a transaction names; entries of lookup tables as they stand in the source. */
  named(wire: ReadonlyBytes, source: AccountSource): readonly AccountMeta[] {
    return resolveAccounts(decodeTransaction(wire).message, source);
  }

  /** The clock as programs see it in a slot. */
  clockOf(slot: number): ChainClock {
    return runtimeClock(slot, this.timeMs(slot));
  }

  /** Tries a transaction out on a state in the newest slot; its blockhash is not looked at, and nothing is kept. */
  run(wire: Uint8Array, source: AccountSource, verifySignatures = false): ExecutionResult {
    const slot = this.newestSlot();
    this.#tellSlots([wire], slot);
    return this.#parts.runtime.execute(wire, source, this.clockOf(slot), { verifySignatures });
  }

  /** Takes a transaction; one that cannot land is forgotten. */
  submit(transaction: SentTransaction): void {
    this.land([transaction]);
  }

  /** Called about once a slot. */
  tick(): void {}

  /** No process begins before the newest slot then, however its clock is set. */
  close(): void {
    this.#parts.ledger.keepSlot();
    this.#parts.close();
  }

  /** Puts transactions into the newest block, in order, durably. @returns those that could not start. */
  protected land(transactions: readonly SentTransaction[]): readonly SentTransaction[] {
    this.#tellSlots(
      transactions.map(({ wire }) => wire),
      this.newestSlot(),
    );
    return this.#parts.ledger.write((draft) =>
      transactions.filter(({ wire }) => draft.land(wire, this.#parts.runtime)?.landed === false),
    );
  }

  #read<Result>(work: (tables: LedgerTables) => Result): Result {
    return this.#parts.ledger.read(work);
  }

  #landedOf(kept: KeptTransaction): Landed {
    return { ...kept, slot: Number(kept.slot) };
  }

  /** Making a lookup table takes a recent slot; all else does not ask, and is not made to wait for the list. */
  #tellSlots(wires: readonly Uint8Array[], newest: number): void {
    if (!wires.some((wire) => readBuffer(wire).includes(LOOKUP_TABLES))) return;
    const count = Math.min(MAX_RECENT_SLOTS, newest - FIRST_SLOT + 1);
    const slots = Array.from({ length: count }, (_, back) => newest - back);
    this.#parts.runtime.setRecentSlots(slots.map((slot) => ({ slot, hash: this.blockhashOf(slot) })));
  }
}
