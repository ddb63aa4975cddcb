/**
 * The chain as a node shows it: a sent transaction is in the newest block at once; blocks become confirmed and finalized by
 * age.
 */
import type { AccountState, ChainClock } from '../chain/account.js';
import type { Signature } from '../chain/chain.js';
import { FIRST_SLOT } from '../chain/local/ledger/clock.js';
import { type LedgerTables, runtimeClock } from '../chain/local/ledger/draft.js';
import type { Ledger } from '../chain/local/ledger/ledger.js';
import type { KeptTransaction } from '../chain/local/ledger/tables.js';
import type { ExecutionResult } from '../chain/local/runtime/execution.js';
import type { Runtime } from '../chain/local/runtime/runtime.js';
import type { AccountSource } from '../chain/local/vm.js';
import { ADDRESS_LOOKUP_TABLE_PROGRAM, SQUADS_PROGRAM, UPGRADEABLE_LOADER } from '../chain/programs.js';
import { type Address, addressBytes } from '../values/address.js';
import { base58Decode, base58Encode, readBuffer } from '../values/bytes.js';

/** Commitment levels: the newest block, one with a majority of votes, one that no fork can undo. */
export const LEVELS = ['processed', 'confirmed', 'finalized'] as const;
export type Level = (typeof LEVELS)[number];

export interface ClusterParts {
  readonly ledger: Ledger;
  readonly runtime: Runtime;
  /** The signed transfer of `requestAirdrop`. */
  airdrop(to: Address, lamports: bigint, blockhash: string): Uint8Array;
  close(): void;
}

/** Slots until a block reaches a level. */
const LAGS: Readonly<Record<Level, number>> = { processed: 0, confirmed: 2, finalized: 31 };
/** Slots that programs accept as recent (solana-slot-hashes, `MAX_ENTRIES`). */
const MAX_RECENT_SLOTS = 512;
const LOOKUP_TABLES = readBuffer(addressBytes(ADDRESS_LOOKUP_TABLE_PROGRAM));

/** The program runs natively here; clients see it as a deployed program. */
const SQUADS_ACCOUNT: AccountState = {
  lamports: 1_141_440n,
  owner: UPGRADEABLE_LOADER,
  data: new Uint8Array(0),
  executable: true,
};

/** One cluster on one ledger. Other processes may write to the ledger too. */
export class Cluster {
  constructor(readonly parts: ClusterParts) {}

  get slotMs(): number {
    return this.#read(({ clock }) => clock.slotMs);
  }

  /** The newest slot of the ledger; never goes backwards. */
  newestSlot(): number {
    return this.#read(({ clock }) => clock.slot());
  }

  slotOf(commitment: Level): number {
    return Math.max(FIRST_SLOT, this.newestSlot() - LAGS[commitment]);
  }

  /** Block time of a slot, in ms since the Unix epoch. */
  timeMs(slot: number): number {
    return this.#read(({ clock }) => clock.timeMs(slot));
  }

  blockhashOf(slot: number): string {
    return this.#read(({ clock }) => base58Encode(clock.blockhash(slot)));
  }

  /** Whether the block of `slot` may accept a transaction with this blockhash. */
  isGoodBlockhash(blockhash: string, slot: number): boolean {
    const bytes = base58Decode(blockhash);
    return bytes !== undefined && this.#read(({ clock }) => clock.isGood(bytes, slot));
  }

  transactionCount(): number {
    return this.#read(({ transactions }) => transactions.tip.id);
  }

  /** Accounts have no history: every commitment level shows the newest state. */
  accountAt(address: Address, _slot: number): AccountState | null {
    return this.#read(({ accounts }) => accounts.get(address)) ?? this.builtIn(address);
  }

  accounts(_slot: number): Iterable<readonly [Address, AccountState]> {
    return this.#read(({ accounts }) => accounts.all());
  }

  builtIn(address: Address): AccountState | null {
    return address === SQUADS_PROGRAM ? SQUADS_ACCOUNT : this.parts.runtime.vm.builtIn(address);
  }

  find(signature: Signature, slot: number): KeptTransaction | null {
    const kept = this.#read(({ transactions }) => transactions.kept(signature));
    return kept !== null && kept.slot <= slot ? kept : null;
  }

  /** Transactions that name an address, newest first, older than `before`. */
  past(address: Address, before: number | null): Iterable<KeptTransaction> {
    return this.parts.ledger.naming(address, before);
  }

  clockOf(slot: number): ChainClock {
    return runtimeClock(slot, this.timeMs(slot));
  }

  /** Runs a transaction on a state in the newest slot, without a check of its blockhash. Stores nothing. */
  run(wire: Uint8Array, source: AccountSource, verifySignatures = false): ExecutionResult {
    const slot = this.newestSlot();
    this.#tellSlots(wire, slot);
    return this.parts.runtime.execute(wire, source, this.clockOf(slot), { verifySignatures });
  }

  /** Lands a transaction in the newest block, durably; one that cannot start is dropped. */
  submit(wire: Uint8Array, _isRetried: boolean): void {
    this.land(wire);
  }

  /** Saves the newest slot first, so that no process begins before it, even if its system clock is behind. */
  close(): void {
    this.parts.ledger.keepSlot();
    this.parts.close();
  }

  /** @returns `false` if the transaction cannot start. */
  protected land(wire: Uint8Array): boolean {
    this.#tellSlots(wire, this.newestSlot());
    return this.parts.ledger.write((draft) => draft.land(wire, this.parts.runtime)?.landed !== false);
  }

  #read<Result>(work: (tables: LedgerTables) => Result): Result {
    return this.parts.ledger.read(work);
  }

  /** Only creating a lookup table needs recent slots; other transactions skip the computation of the list. */
  #tellSlots(wire: Uint8Array, newest: number): void {
    if (!readBuffer(wire).includes(LOOKUP_TABLES)) return;
    const count = Math.min(MAX_RECENT_SLOTS, newest - FIRST_SLOT + 1);
    const slots = Array.from({ length: count }, (_, back) => newest - back);
    this.parts.runtime.vm.setRecentSlots(slots.map((slot) => ({ slot, hash: this.blockhashOf(slot) })));
  }
}
