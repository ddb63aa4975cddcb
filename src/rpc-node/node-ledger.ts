/** The port to the chain under a node: what is durable, and the machine that runs transactions. */
import type { AccountState } from '../chain/account.js';
import type { Signature, TransactionError, TransactionRecord } from '../chain/chain.js';
import type { Address } from '../values/address.js';

/** Accounts as of some state. */
export interface AccountSource {
  get(address: Address): AccountState | null;
}

/** An account that a transaction names, with its rights. */
export interface NamedAccount {
  readonly address: Address;
  readonly signer: boolean;
  readonly writable: boolean;
}

/** The same, before and after the transaction. */
export interface TouchedAccount extends NamedAccount {
  readonly before: AccountState | null;
  readonly after: AccountState | null;
}

/** What running a transaction did. */
export interface Run {
  readonly error: TransactionError | null;
  /** `false`: it could not start, and nothing is charged. */
  readonly landed: boolean;
  readonly logs: readonly string[];
  readonly computeUnits: bigint;
  readonly feeLamports: bigint;
  /** In the order of the message: static keys, writable looked-up, readonly looked-up. */
  readonly accounts: readonly TouchedAccount[];
}

/** A landed transaction with its bytes. */
export interface KeptTransaction extends TransactionRecord {
  readonly wire: Uint8Array;
  /** In the order of all. */
  readonly place: number;
}

/** A durable ledger that other processes may write to as well; its methods end before they return. */
export interface NodeLedger extends AccountSource {
  /** Tells it from all others, base58. */
  readonly genesisHash: string;
  readonly slotMs: number;
  /** The newest slot; never one before another that was told of. */
  slot(): number;
  heightOf(slot: number): number;
  /** Time of the block of a slot, in ms since the Unix epoch. */
  timeMs(slot: number): number;
  /** Base58 hash of the block of a slot. */
  blockhash(slot: number): string;
  /** May the block of a slot take a transaction with this blockhash? */
  isGoodBlockhash(blockhash: string, slot: number): boolean;
  /** Stores the newest slot: no process begins before it, however its clock is set. */
  keepSlot(): number;
  /** Transactions that have landed. */
  transactionCount(): number;
  accounts(): readonly (readonly [Address, AccountState])[];
  find(signature: Signature): KeptTransaction | null;
  /** Transactions that may name an address, newest first, from before a place on, until `take` says `false`. */
  search(address: Address, before: number | null, take: (transaction: KeptTransaction) => boolean): void;
  /** Lands transactions in order, durably, in the newest slot. @returns one entry a transaction, `null` for one that had landed before. */
  land(wires: readonly Uint8Array[]): readonly (Run | null)[];
  /** Tries a transaction out in a slot; its blockhash is not looked at. */
  run(
    wire: Uint8Array,
    source: AccountSource,
    slot: number,
    options: { readonly verifySignatures: boolean },
  ): Run;
  named(wire: Uint8Array, source: AccountSource): readonly NamedAccount[];
  /** The slots that programs take for recent, newest first: a lookup table is made with one of them. */
  setRecentSlots(slots: readonly { readonly slot: number; readonly hash: string }[]): void;
  /** A program or sysvar that is no account of the ledger. */
  builtIn(address: Address): AccountState | null;
  close(): void;
}
