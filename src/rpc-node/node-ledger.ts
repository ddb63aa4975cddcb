/** The port to the chain under a node: what is durable, and the machine that runs transactions. */
import type { AccountState } from '../chain/account.js';
import type { Signature, TransactionError, TransactionRecord } from '../chain/chain.js';
import type { Address } from '../values/address.js';
import type { ReadonlyBytes } from '../values/bytes.js';

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

/** A landed transaction; its `slot` is the ledger's own height. */
export interface KeptTransaction extends TransactionRecord {
  readonly wire: Uint8Array;
  /** In the order of all. */
  readonly place: number;
}

/** A durable ledger that other processes may write to as well; its methods end before they return. */
export interface NodeLedger extends AccountSource {
  /** Base58 hash of the first block. */
  readonly genesisHash: string;
  readonly genesisMs: number;
  /** The newest block. */
  readonly tip: { readonly height: number; readonly timeMs: number };
  accounts(): readonly (readonly [Address, AccountState])[];
  find(signature: Signature): KeptTransaction | null;
  /** Transactions that may name an address, newest first, from before a place on, until `take` says `false`. */
  search(address: Address, before: number | null, take: (transaction: KeptTransaction) => boolean): void;
  /** Is it one of the ledger's own that was good after all blocks up to a time? */
  isGoodBlockhash(blockhash: ReadonlyBytes, timeMs: number): boolean;
  /**
   * Lands transactions in order, durably.
   * @param timeMs - of their blocks at least.
   * @param isGood - tells of a blockhash that is not the ledger's own whether it is good in a block of a time.
   * @returns one entry a transaction, `null` for one that had landed before.
   */
  land(
    wires: readonly Uint8Array[],
    timeMs: number,
    isGood: (blockhash: ReadonlyBytes, timeMs: number) => boolean,
  ): readonly (Run | null)[];
  /** Tries a transaction out; its blockhash is not looked at. */
  run(
    wire: Uint8Array,
    source: AccountSource,
    timeMs: number,
    options: { readonly verifySignatures: boolean },
  ): Run;
  named(wire: Uint8Array, source: AccountSource): readonly NamedAccount[];
  /** The slots that programs take for recent, newest first: a lookup table is made with one of them. */
  setRecentSlots(slots: readonly { readonly slot: number; readonly hash: string }[]): void;
  /** A program or sysvar that is no account of the ledger. */
  builtIn(address: Address): AccountState | null;
  note(name: string): string | null;
  keepNote(name: string, text: string): void;
  close(): void;
}
