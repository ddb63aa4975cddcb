/**
 * The port to the chain: read, submit, trace.
 *
 * A receipt of `submit` proves nothing; only a look-up shows the outcome of a signature. Implementations: `local/` (LiteSVM on
 * a durable ledger) and `rpc/` (a cluster).
 */
import type { Address } from '../values/address.js';
import { isoTime } from '../values/time.js';
import type { AccountState, Rent } from './account.js';
import type { Call, Instruction } from './transaction/message.js';

/** Base58 text of the first signature of a transaction. */
export type Signature = string;

export interface RecentBlockhash {
  /** Base58 text of 32 bytes. */
  readonly blockhash: string;
  /**
   * Last block that accepts a transaction with this blockhash. {@link Chain.expiredHeight} proves that the block has passed.
   */
  readonly lastValidBlockHeight: bigint;
}

/** Why a transaction failed, in the terms of the cluster. */
export type TransactionError =
  | { readonly kind: 'instruction'; readonly index: number; readonly custom: number }
  | { readonly kind: 'instruction'; readonly index: number; readonly error: string }
  | { readonly kind: 'transaction'; readonly error: string; readonly accountIndex?: number };

export interface TransactionRecord {
  readonly signature: Signature;
  /** `null` where no node stores the bytes. */
  readonly wire: Uint8Array | null;
  readonly slot: bigint;
  /** Milliseconds since the Unix epoch; 0 where no node knows the time, see {@link dateLanded}. */
  readonly blockTimeMs: number;
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
  readonly feeLamports: bigint;
  readonly computeUnits: bigint;
  /**
   * One entry per account: accounts of the message, then {@link tableAddresses}. Absent where the chain does not store
   * balances.
   */
  readonly balances?: readonly Balance[] | undefined;
  readonly tokenChanges?: readonly TokenChange[] | undefined;
  /** Addresses from lookup tables, in index order after the static keys. Absent where the chain does not report them. */
  readonly tableAddresses?: readonly Address[] | undefined;
  /** Inner instructions, at least every call of the Squads and token programs. Absent where the chain does not store them. */
  readonly innerCalls?: readonly Call<Address>[] | undefined;
}

/** ISO time of the block; `undefined` where no node knows the time. */
export const dateLanded = ({ blockTimeMs }: Pick<TransactionRecord, 'blockTimeMs'>): string | undefined =>
  blockTimeMs === 0 ? undefined : isoTime(blockTimeMs);

export interface Balance {
  readonly before: bigint;
  readonly after: bigint;
}

export interface TokenChange {
  readonly account: Address;
  readonly mint: Address;
  /** `null` where the transaction opened the account. */
  readonly before: bigint | null;
  /** 0 where the transaction closed the account. */
  readonly after: bigint;
}

/** The chain refused the bytes: they have not landed and will not land unless they are submitted again. */
export interface Rejection {
  readonly index: number;
  readonly error: TransactionError;
  readonly logs: readonly string[];
}

/** The read-only part of the chain; approvers need no more. */
export interface ChainReader {
  /**
   * Accounts in the order of `addresses`, as of one point in time; `null` for a missing account.
   * @param commitment - of the state that is read; no fork can undo a finalized state. @default confirmed
   */
  getAccounts(
    addresses: readonly Address[],
    commitment?: Commitment,
  ): Promise<readonly (AccountState | null)[]>;

  latestBlockhash(): Promise<RecentBlockhash>;

  /** Records in the order of `signatures`; `null` for a signature that has not landed. */
  lookUp(signatures: readonly Signature[]): Promise<readonly (TransactionRecord | null)[]>;

  /** Whether a transaction with this blockhash (base58) can still land. */
  isBlockhashValid(blockhash: string): Promise<boolean>;

  /**
   * The newest transactions that name an account, newest first, as far back as a node stores them. Fewer than `limit` means that
   * the node lists no more, not that there is no more.
   */
  history(account: Address, past: Past): Promise<readonly PastTransaction[] & Listing>;
}

interface Listing {
  /** Names the nodes that listed; what one list shows of their history holds for another of the same nodes. */
  readonly nodes?: string;
}

export interface PastTransaction {
  readonly signature: Signature;
  readonly slot: number;
  readonly failed: boolean;
  /** Memos of the top-level instructions, as a node joins them, if asked for. Memos of inner instructions are missing. */
  readonly memo: string | null;
  readonly blockTimeMs: number | null;
  /** Every node that was asked lists it: one node alone cannot make a reader stop there. */
  readonly isAgreed: boolean;
}

export interface Past {
  readonly sinceMs?: number;
  /** @default unlimited */
  readonly limit?: number;
  /** The answering node must have reached this slot. */
  readonly sinceSlot?: number;
  /** @default without, to save memory */
  readonly withMemos?: true;
}

/** A transaction that may have been submitted. */
export interface Sought {
  readonly signature: Signature;
  readonly lastValidBlockHeight: bigint;
  /** Wire bytes, if known. They save the request for the record until the transaction is final. */
  readonly bytes?: Uint8Array;
  /** Of the fee, where `bytes` are not known. */
  readonly payer?: Address;
  /** The transaction pays a fee and moves no other lamports: `bytes` then suffice for a final record too. */
  readonly paysOnlyFee?: true;
}

/** Outcome of a transaction that may have been submitted. `never` is a proof; an uncertain outcome is `open`. */
export type Trace =
  /** `isFinal`: no fork can undo the transaction. A failed transaction is reported only when final. */
  | { readonly kind: 'landed'; readonly record: TransactionRecord; readonly isFinal: boolean }
  | { readonly kind: 'never' }
  /**
   * `isOver`: the transaction can no longer land, but no node stores enough history to prove that it has not landed. Waiting
   * does not help.
   * `ranWell`: every queried node has run the transaction without an error, on a fork that may be dropped.
   */
  | { readonly kind: 'open'; readonly isOver?: true; readonly progress?: Progress; readonly ranWell?: true };

export interface Progress {
  readonly slot: number;
  /** A node has run the transaction; the block is not confirmed yet. */
  readonly isRun: boolean;
}

export type Commitment = 'confirmed' | 'finalized';

/** Default limit of the priority fee per transaction: ten times the fee of one signature. */
export const DEFAULT_MAX_PRIORITY_FEE_LAMPORTS = 50_000n;
/** Upper bound of the configurable limit: 0.01 SOL, far above the need of any vote. */
export const MAX_PRIORITY_FEE_LAMPORTS = 10_000_000n;

export interface PriorityFees {
  readonly maxLamports: bigint;

  /**
   * Micro-lamports per compute unit that recent writers of these accounts paid. Without an answer: the last known price, else a
   * low default.
   */
  priceOf(written: readonly Address[]): Promise<bigint>;

  /**
   * Compute units that a message would use now.
   * @param message - signatures and the age of the blockhash are ignored.
   * @returns `null` where the message would fail, or the chain does not say.
   */
  computeUnitsOf(message: Uint8Array): Promise<number | null>;
}

export interface Chain extends ChainReader {
  /** `null` on a chain without priority fees. */
  readonly fees: PriorityFees | null;

  /** Interval between traces, in ms; `null` where the outcome is final as soon as `submit` returns. */
  readonly pollMs: number | null;

  rent(): Promise<Rent>;

  /**
   * Proof of expiry: every transaction whose `lastValidBlockHeight` is at most this height can never land. The value never
   * falls and never exceeds the block height. A signature that is looked up after this call, and is not found, never lands; the
   * height of the newest block proves nothing.
   * @param sinceSlot - the answering nodes must have finalized this slot.
   */
  expiredHeight(sinceSlot?: number): Promise<bigint>;

  /** Outcomes in order. Expiry is read first; then every signature is looked up in a state at least as new. */
  trace(sought: readonly Sought[]): Promise<readonly Trace[]>;

  /**
   * Submits independent transactions in order. A transaction that fails while running lands as failed and pays its fee. A
   * transaction that cannot start (bad signature, unknown blockhash, payer too poor) is rejected, and the others continue.
   * Submitting a landed signature again is accepted and changes nothing.
   *
   * @param transactions - signed wire bytes.
   * @param areNew - per transaction, whether these bytes have certainly never been submitted. On a cluster only those can be
   * rejected, because a refusal by a node is only an opinion. @default all false
   * @returns one entry per transaction, in order; `null` means accepted, not landed.
   * @throws `ERR_UNAVAILABLE` when the chain is out of reach; whether the bytes arrived is then unknown.
   */
  submit(
    transactions: readonly Uint8Array[],
    areNew?: readonly boolean[],
  ): Promise<readonly (Rejection | null)[]>;

  /**
   * Submits bundles in order, each all or nothing. The first rejected bundle stops those after it.
   *
   * @param bundles - 1 to {@link bundleSizeOf} signed transactions each.
   * @param areNew - as for {@link submit}.
   * @returns one entry per bundle that was tried; the others wait until the outcome of those is known.
   */
  submitBundles(
    bundles: readonly (readonly Uint8Array[])[],
    areNew?: readonly boolean[],
  ): Promise<readonly (Rejection | null)[]>;
}

/** Contract, section 1.2. A cluster cannot run two transactions atomically, so a bundle there is one transaction. */
const MAX_BUNDLE_TRANSACTIONS = 4;
export const bundleSizeOf = ({ pollMs }: Pick<Chain, 'pollMs'>): number =>
  pollMs === null ? MAX_BUNDLE_TRANSACTIONS : 1;
/** Blocks after its own in which a blockhash is valid. */
export const BLOCKHASH_LIFETIME_BLOCKS = 150n;

export interface Simulator {
  /**
   * Runs instructions as if a program called them for the vault: signatures are not checked.
   *
   * @param accounts - every account that the steps name, as on chain; programs are those of the VM.
   * @param steps - run in order, each all or nothing.
   */
  run(
    accounts: ReadonlyMap<Address, AccountState | null>,
    steps: readonly (readonly Instruction[])[],
  ): {
    readonly failure: { readonly step: number; readonly reason: string } | null;
    account(address: Address): AccountState | null;
  };
}

/** On-chain addresses and facts of a project. */
export interface Flywheel {
  readonly multisig: Address;
  readonly owner: Address;
  readonly operator: Address;
  readonly vaultIndex: number;
  readonly vault: Address;
  readonly vaultTokenAccount: Address;
  readonly mint: Address;
  readonly decimals: number;
  readonly tokenProgram: Address;
}

export type VaultToken = Pick<Flywheel, 'mint' | 'decimals' | 'tokenProgram' | 'vault' | 'vaultTokenAccount'>;
