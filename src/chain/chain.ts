/**
 * The port to the chain, near or far: read, submit, look up.
 *
 * The chain is a ledger of its own. Submitting decides nothing; what became of a signature is only ever known by
 * looking it up. Implementations: `local/` (LiteSVM on a durable ledger) and `rpc/` (a cluster).
 */
import type { Address } from '../values/address.js';
import type { ReadonlyBytes } from '../values/bytes.js';
import { isoTime } from '../values/time.js';
import type { AccountState, Rent } from './account.js';
import type { Instruction } from './transaction/message.js';

/** Base58 text of the first signature of a transaction: its name on the chain. */
export type Signature = string;

export interface RecentBlockhash {
  /** Base58 text of 32 bytes. */
  readonly blockhash: string;
  /** The last block that takes a transaction with it. {@link Chain.expiredHeight} proves that this block has passed. */
  readonly lastValidBlockHeight: bigint;
}

/**
 * The one error that no cluster has: the embedded Squads program is asked for an instruction that only the real one has, which
 * the last log lines name.
 */
export const UNSUPPORTED_INSTRUCTION = 'UnsupportedInstruction';

/** Why a transaction failed, in the terms of the cluster; {@link UNSUPPORTED_INSTRUCTION} apart. */
export type TransactionError =
  | { readonly kind: 'instruction'; readonly index: number; readonly custom: number }
  | { readonly kind: 'instruction'; readonly index: number; readonly error: string }
  | { readonly kind: 'transaction'; readonly error: string; readonly accountIndex?: number };

/** What the chain knows of a signature that has landed. A failed transaction has landed too: its fee is gone. */
export interface TransactionRecord {
  readonly signature: Signature;
  /** Its wire bytes; `null` where no node keeps them. */
  readonly wire: Uint8Array | null;
  /** Slot in which it landed. */
  readonly slot: bigint;
  /** Milliseconds since the Unix epoch; 0 where no node says, see {@link dateLanded}. */
  readonly blockTimeMs: number;
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
  readonly feeLamports: bigint;
  readonly computeUnits: bigint;
  /** Of each of its accounts: those of its message, then those of {@link tableAddresses}; absent where the chain does not keep it. */
  readonly balances?: readonly Balance[] | undefined;
  /** What its token accounts held; absent where the chain does not keep it. */
  readonly tokenChanges?: readonly TokenChange[] | undefined;
  /** Addresses from lookup tables, in the order in which the indexes of its accounts go on; absent where the chain does not say. */
  readonly tableAddresses?: readonly Address[] | undefined;
  /** What its programs called in their turn, at least every call of the multisig program; absent where the chain does not keep it. */
  readonly innerCalls?: readonly ProgramCall[] | undefined;
}

/** When it landed, as ISO text; `undefined` where no node says. */
export const dateLanded = ({ blockTimeMs }: Pick<TransactionRecord, 'blockTimeMs'>): string | undefined =>
  blockTimeMs === 0 ? undefined : isoTime(blockTimeMs);

/** Lamports of an account before and after a transaction. */
export interface Balance {
  readonly before: bigint;
  readonly after: bigint;
}

/** A call of a program. */
export interface ProgramCall {
  readonly program: Address;
  readonly accounts: readonly Address[];
  readonly data: ReadonlyBytes;
}

/** Base units of one token account before and after a transaction. */
export interface TokenChange {
  readonly account: Address;
  readonly mint: Address;
  /** `null` where it was opened by it. */
  readonly before: bigint | null;
  /** 0 where it was closed. */
  readonly after: bigint;
}

/** The chain refused to take the bytes at all; nothing of them landed or will land unless they are submitted again. */
export interface Rejection {
  /** Index of the offending transaction among those submitted. */
  readonly index: number;
  readonly error: TransactionError;
  readonly logs: readonly string[];
}

/** One refusal or `null` for each unit submitted, in order; `null` says only that it was taken. */
export type SubmitReceipt = readonly (Rejection | null)[];

/** The part of the chain that only reads; all that an approver needs. */
export interface ChainReader {
  /**
   * Accounts in the order asked for, as of one point in time; `null` where there is none.
   * @param commitment - of the state that is read: no fork can take back what is finalized. @default confirmed
   */
  getAccounts(
    addresses: readonly Address[],
    commitment?: Commitment,
  ): Promise<readonly (AccountState | null)[]>;

  latestBlockhash(): Promise<RecentBlockhash>;

  /** Records in the order asked for; `null` for a signature that has not landed. */
  lookUp(signatures: readonly Signature[]): Promise<readonly (TransactionRecord | null)[]>;

  /** Can a transaction with this blockhash (base58) still land? */
  isBlockhashValid(blockhash: string): Promise<boolean>;

  /** The transactions that name an account, newest first, as far back as a node keeps them; fewer than the limit where there are no more. */
  history(account: Address, past: Past): Promise<readonly PastTransaction[]>;
}

/** A transaction that names an account, as a list of such tells of it. */
export interface PastTransaction {
  readonly signature: Signature;
  readonly slot: number;
  readonly failed: boolean;
  /** The memos that it names itself, as the node joins them; those of inner instructions are not among them. */
  readonly memo: string | null;
  /** `null` when the node does not say. */
  readonly blockTimeMs: number | null;
}

/** Which part of the past of an account is asked for. */
export interface Past {
  /** None from before this time. */
  readonly sinceMs?: number;
  /** @default 20,000 */
  readonly limit?: number;
  /** Only those older than this one. */
  readonly before?: Signature;
  /** As listed by a node that has come as far as this slot. */
  readonly sinceSlot?: number;
}

/** A transaction that may have been submitted. */
export interface Sought {
  readonly signature: Signature;
  readonly lastValidBlockHeight: bigint;
  /** Its wire bytes, where they are at hand: nothing else is asked for then before it is final. */
  readonly bytes?: Uint8Array;
  /** It pays a fee and moves no other lamports: what it did is not asked for then either. */
  readonly paysOnlyFee?: true;
  /** The time of its block need not be told, which would be a question for each block. */
  readonly isTimeKnown?: true;
}

/** What became of a transaction that may have been submitted. `never` is a proof; what cannot be told is `open`. */
export type Trace =
  /** `isFinal`: no fork can take it back. One that failed is only told when it is. */
  | { readonly kind: 'landed'; readonly record: TransactionRecord; readonly isFinal: boolean }
  | { readonly kind: 'never' }
  /**
   * `isOver`: it can land no more, but no node remembers far enough to say that it has not. Waiting does not help. `ranWell`: every
   * node that was asked has run it without an error, on a fork that may not last.
   */
  | { readonly kind: 'open'; readonly isOver?: true; readonly progress?: Progress; readonly ranWell?: true };

/** How far a transaction has come that has not landed. */
export interface Progress {
  /** The slot that was looked at. */
  readonly slot: number;
  /** A node has run it, and its block is not confirmed. */
  readonly isRun: boolean;
}

/** How sure it has to be that a transaction has landed. */
export type Commitment = 'confirmed' | 'finalized';

/** What a transaction pays beyond its signatures at most, unless told otherwise: ten times the fee of one. */
export const DEFAULT_MAX_PRIORITY_FEE_LAMPORTS = 50_000n;
/** The most that anybody may allow: 0.01 SOL, far above what any vote needs. */
export const MAX_PRIORITY_FEE_LAMPORTS = 10_000_000n;

/** What a place in a block costs beside the signatures, where others want it too. */
export interface PriorityFees {
  /** Lamports that one transaction pays for it at most. */
  readonly maxLamports: bigint;

  /** Micro-lamports that those who wrote these accounts have paid for a compute unit of late; where nobody says, the last that was told, or a low one. */
  priceOf(written: readonly Address[]): Promise<bigint>;

  /**
   * Compute units that a message would use now.
   * @param message - signatures are not looked at, nor how old its blockhash is.
   * @returns `null` where it would fail, or the chain does not say.
   */
  computeUnitsOf(message: Uint8Array): Promise<number | null>;
}

export interface Chain extends ChainReader {
  /** `null` where nothing is paid beyond the signatures. */
  readonly fees: PriorityFees | null;

  /** How often to look for what was submitted, in ms; `null` where its end is known as soon as submitting returns. */
  readonly pollMs: number | null;

  /** What accounts cost now. */
  rent(): Promise<Rent>;

  /**
   * What proves that a transaction can never land any more: every one whose `lastValidBlockHeight` is at most this has
   * expired for good. Never falls, and never is above the block height.
   */
  expiredHeight(): Promise<bigint>;

  /**
   * What became of transactions, in order: what has expired is asked for first, then every signature is looked up, in a state
   * no older than that.
   */
  trace(sought: readonly Sought[]): Promise<readonly Trace[]>;

  /**
   * Submits transactions that stand for themselves, in order. One that fails while running lands as failed and keeps its
   * fee; one that cannot even start (bad signature, unknown blockhash, payer too poor) is rejected and the rest goes on.
   * A signature that has landed already is taken and changes nothing.
   *
   * @param transactions - signed wire bytes.
   * @param areNew - of each, whether these bytes have certainly never been submitted: where nodes only say what they think,
   * nothing else is refused. @default none is
   * @returns a receipt with one entry a transaction.
   * @throws `ERR_UNAVAILABLE` when the chain is out of reach; whether the bytes arrived is then unknown.
   */
  submit(transactions: readonly Uint8Array[], areNew?: readonly boolean[]): Promise<SubmitReceipt>;

  /**
   * Submits bundles, each landing whole or not at all, in order; the first that is rejected stops those after it.
   *
   * @param bundles - 1 to {@link bundleSizeOf} signed transactions each.
   * @param areNew - as for {@link submit}.
   * @returns one entry a bundle that was tried; those after it wait until its end is known.
   */
  submitBundles(
    bundles: readonly (readonly Uint8Array[])[],
    areNew?: readonly boolean[],
  ): Promise<SubmitReceipt>;
}

/** {@link Chain.trace} where what is looked up is final, after the chain was asked what has expired. */
export async function traceByLookUp(
  chain: Pick<Chain, 'lookUp'>,
  sought: readonly Sought[],
  expiredHeight: bigint,
): Promise<readonly Trace[]> {
  const records = await chain.lookUp(sought.map(({ signature }) => signature));
  return sought.map(({ lastValidBlockHeight }, index): Trace => {
    const record = records[index] ?? null;
    if (record !== null) return { kind: 'landed', record, isFinal: true };
    return { kind: hasExpired(lastValidBlockHeight, expiredHeight) ? 'never' : 'open' };
  });
}

/**
 * Can nothing with this blockhash land any more? What is looked up after the chain was asked what has expired, and is not
 * found, never lands.
 *
 * @param expiredHeight - as the chain says; the height of its newest block proves nothing.
 */
export const hasExpired = (lastValidBlockHeight: bigint, expiredHeight: bigint): boolean =>
  lastValidBlockHeight <= expiredHeight;

/** Transactions in a bundle at most (contract, section 1.2); a cluster holds no two together. */
const MAX_BUNDLE_TRANSACTIONS = 4;
export const bundleSizeOf = ({ pollMs }: Pick<Chain, 'pollMs'>): number =>
  pollMs === null ? MAX_BUNDLE_TRANSACTIONS : 1;
/** Blocks after its own for which a blockhash stays good. */
export const BLOCKHASH_LIFETIME_BLOCKS = 150n;

/** What became of the accounts. */
interface SimulatedRun {
  /** Place of the step that failed, from 0, and why; later ones were not run. */
  readonly failure: { readonly step: number; readonly reason: string } | null;
  account(address: Address): AccountState | null;
}

export interface Simulator {
  /**
   * Runs instructions as a program would that calls them for its vault: signatures are taken as given.
   *
   * @param accounts - all that the steps name, as they are on chain; programs are the machine's own.
   * @param steps - each runs whole or not at all, in order.
   */
  run(
    accounts: ReadonlyMap<Address, AccountState | null>,
    steps: readonly (readonly Instruction[])[],
  ): SimulatedRun;
}
