/** The records that the engine sees: table rows without the columns that only the store needs. */
import type { NewRow, Row } from './schema.js';

export type ProjectRecord = Row<'projects'>;
export type ApiKeyRecord = Row<'apiKeys'>;
export type RequestRecord = Omit<Row<'requests'>, 'dayCount' | 'lastGap'>;
/** A transaction on chain that moved tokens of a project and has no other record in the store. */
export type LostTransaction = Omit<
  Row<'gapTransactions'>,
  'ordinal' | 'tokenId' | 'dateFound' | 'dateAccepted'
>;
/** What of a project is missing and not accepted yet. */
export interface GapRecord extends Pick<Row<'gapTransactions'>, 'tokenId' | 'dateFound'> {
  /** In the order in which they landed. */
  readonly lost: readonly LostTransaction[];
  readonly transactions: number;
  /** How many of the transactions burned. */
  readonly burns: number;
  /** Base units. */
  readonly burned: bigint;
  readonly airdropped: bigint;
}

export type BurnRecord = Row<'burns'>;
export type BurnStatus = BurnRecord['status'];
export type BurnIntent = Omit<
  NewRow<'burns'>,
  'transaction' | 'status' | Exclude<keyof BurnOutcome, 'sequence'>
> & {
  readonly transaction: Uint8Array;
};
export type BurnOutcome = Pick<BurnRecord, 'sequence' | 'errorCode' | 'errorMessage' | 'feeLamports'> & {
  readonly status: Exclude<BurnStatus, 'PENDING'>;
  readonly dateSettled: string;
};

export type PlannedPipeline = Omit<
  Row<'pipelines'>,
  'batchId' | 'position' | 'tokenId' | 'signature' | 'dateLanded'
>;
export type StoredAction = Pick<Row<'pipelineActions'>, 'kind' | 'amount' | 'recipient'>;

export type BatchHead = Omit<BatchRecord, 'pipelines'>;
export type BatchRecord = Omit<Row<'batches'>, 'ordinal'> & {
  readonly pipelines: readonly PlannedPipeline[];
};

export type TransactionCost = Omit<Row<'batchCosts'>, 'batchId'>;

export type IssuedVote = Omit<Row<'issuedVotes'>, 'ordinal' | 'isOver'>;
export type IssuedVoteKind = IssuedVote['kind'];

type SignedStep = Row<'batchTransactions'>;
/** Transactions that land together. */
export type BundleRecord = Omit<SignedStep, 'signature' | 'bytes' | 'position'> & {
  readonly transactions: readonly Pick<SignedStep, 'signature' | 'bytes'>[];
  /** Index within the bundle. */
  readonly failedTransaction: number | null;
};
export type BundlePhase = BundleRecord['phase'];
