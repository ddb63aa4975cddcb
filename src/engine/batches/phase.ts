/** What one phase of a batch is given and what came of it: bundles in order, each of one to four transactions. */
import { MAX_BUNDLE_TRANSACTIONS } from '../../chain/chain.js';
import type { Instruction } from '../../chain/transaction/instruction.js';
import type { Signer } from '../../chain/transaction/signer.js';
import type { BundleExecution } from '../../contract/schemas/batch.js';
import type { BundlePhase, BundleRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { type Sha256, sha256 } from '../../values/digest.js';

/** Instructions of each transaction of a bundle. */
export type BundleDraft = readonly (readonly Instruction[])[];

export interface PhaseInput {
  readonly batchId: string;
  readonly phase: BundlePhase;
  /** Pays and signs every transaction. */
  readonly signer: Signer;
  readonly drafts: readonly BundleDraft[];
  /** Ordinal of the first draft, when a phase runs in parts. */
  readonly firstOrdinal?: number;
  /** Index within the phase of the first draft's first transaction. */
  readonly firstTransaction?: number;
  /** Bundles of this phase as stored, in any state. */
  readonly stored: readonly BundleRecord[];
  /** Aborting stops before the next window; what was submitted is settled first. */
  readonly signal?: AbortSignal | undefined;
  /** Written along with the first intents. */
  readonly before?: (tx: StoreTransaction) => Promise<void>;
  /** Prolongs whatever lease the work is done under. */
  readonly renewLease: (tx: StoreTransaction) => Promise<void>;
}

export interface PhaseFailure {
  /** Index within the phase. */
  readonly failedTransaction: number;
  readonly firstTransaction: number;
  readonly message: string;
}

export interface PhaseResult {
  readonly landed: readonly BundleExecution[];
  readonly landedTransactions: number;
  readonly failure: PhaseFailure | null;
  readonly feeLamports: bigint;
  /** Writes the outcomes that are not written yet; the caller adds what follows from them. */
  readonly settle: (tx: StoreTransaction) => Promise<void>;
}

/** Instructions of transactions, grouped into bundles of the largest size. */
export function intoBundles(transactions: readonly (readonly Instruction[])[]): readonly BundleDraft[] {
  const bundles: BundleDraft[] = [];
  for (let from = 0; from < transactions.length; from += MAX_BUNDLE_TRANSACTIONS) {
    bundles.push(transactions.slice(from, from + MAX_BUNDLE_TRANSACTIONS));
  }
  return bundles;
}

/** SHA-256 over the comma-joined signatures, as block engines name a bundle (contract, section 1.2). */
export const bundleId = (signatures: readonly string[]): Sha256 => sha256(signatures.join(','));
