/** What one phase of a batch is given and what came of it: transactions in order, sent in bundles of one to four. */
import type { Instruction } from '../../chain/transaction/instruction.js';
import type { Signer } from '../../chain/transaction/signer.js';
import type { BundleExecution } from '../../contract/schemas/batch.js';
import type { BundlePhase, BundleRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { type Sha256, sha256 } from '../../values/digest.js';
import type { Lease } from '../lease.js';

export interface LandedBundle {
  readonly bundle: BundleRecord;
  /** Time of its block, or that at which it was found, where no node tells. */
  readonly landedMs: number;
}

export interface PhaseInput {
  readonly batchId: string;
  readonly tokenId: string;
  readonly phase: BundlePhase;
  /** Pays and signs every transaction. */
  readonly signer: Signer;
  /** Instructions of each transaction, in order. */
  readonly transactions: readonly (readonly Instruction[])[];
  /** Index within the phase of the first of them. @default 0 */
  readonly offset?: number;
  /** Bundles of this phase as stored, in any state. */
  readonly stored: readonly BundleRecord[];
  /**
   * Index of the transaction that is next on chain, where others may run them too. What they have run is passed over.
   * @default what this engine has landed
   */
  readonly position?: () => Promise<number>;
  /** Written along with the first intents. */
  readonly before?: (tx: StoreTransaction) => Promise<void>;
  /** Hears, in the transaction that writes it, of the bundles that have landed. */
  readonly landed?: (tx: StoreTransaction, landed: readonly LandedBundle[]) => Promise<void>;
  /** Find out what became of earlier bundles, and send nothing: none of them can land any more. */
  readonly isOver?: boolean;
  /** Under which the work is done; aborting its signal stops before the next window. */
  readonly lease: Lease;
}

export interface PhaseFailure {
  /** Index within the phase. */
  readonly failedTransaction: number;
  readonly firstTransaction: number;
  /** Without a full stop. */
  readonly reason: string;
  readonly message: string;
}

export interface PhaseResult {
  /** Bundles of this engine. */
  readonly landed: readonly BundleExecution[];
  /** Transactions in them. */
  readonly landedCount: number;
  /** Index within the phase of the first transaction that has not run, by whomever. */
  readonly next: number;
  /** Indexes of those that others have run. */
  readonly foreign: readonly number[];
  readonly failure: PhaseFailure | null;
  /** Writes the outcomes that are not written yet; the caller adds what follows from them. */
  readonly settle: (tx: StoreTransaction) => Promise<void>;
}

/** Index after the last transaction that any of these bundles holds: where further steps of the phase may begin. */
export const endOf = (stored: readonly BundleRecord[]): number =>
  stored.reduce((end, { first, transactions }) => Math.max(end, first + transactions.length), 0);

/** SHA-256 over the comma-joined signatures, as block engines name a bundle (contract, section 1.2). */
export const bundleId = (signatures: readonly string[]): Sha256 => sha256(signatures.join(','));
