/** The service: its operations, the same whether they are reached over HTTP or run in this process. */
import type { Call, Reply } from './call.js';
import type {
  Batch,
  BatchPage,
  BatchPipelinesQuery,
  CancelBatchRequest,
  CancelBatchResult,
  ExecuteBatchRequest,
  ExecuteBatchResult,
  InitBatchRequest,
  InitBatchResult,
  IssueApprovalRequest,
  ListBatchesQuery,
  PipelinePage,
} from './schemas/batch.js';
import type { BurnBatchResult, BurnRequest, BurnResult } from './schemas/burn.js';

/** Input is checked by the operation itself, so a caller may pass what it read; every failure is a FlywheelError. */
export interface Service {
  /**
   * Burns once. With an idempotency key a repeat of a success returns the first result and does nothing.
   * @throws the codes of the specification, section 7, and of the contract, section 1.3.
   */
  burn(input: BurnRequest, call: Call): Promise<Reply<BurnResult>>;

  /**
   * Burns each element on its own; a failed element does not fail the request. `success` and `errors` are each in the order
   * of the request.
   */
  burnBatch(input: readonly BurnRequest[], call: Call): Promise<Reply<BurnBatchResult>>;

  /** @throws `ERR_BATCH_NOT_FOUND`, also for another project's batch. */
  getBatch(input: { readonly batchId: string }, call: Call): Promise<Reply<Batch>>;

  /** The most recent batch of the key's token that is not final, else `null`. */
  currentBatch(call: Call): Promise<Reply<Batch | null>>;

  /**
   * Compiles pipelines into one batch of the multisig, one transaction each, ready for approval. Nothing is created on chain
   * unless everything is valid. Run again with the same key after a failed set-up, it carries on where it stopped.
   */
  initBatch(input: InitBatchRequest, call: Call): Promise<Reply<InitBatchResult>>;

  /** Lands the owner's approval, adds the operator's and executes; the stored result when the batch is final already. */
  executeBatch(input: ExecuteBatchRequest, call: Call): Promise<Reply<ExecuteBatchResult>>;

  /** Batches of the key's token, newest first. */
  listBatches(input: ListBatchesQuery, call: Call): Promise<Reply<BatchPage>>;

  /** What each pipeline of a batch was and did, in their order. @throws `ERR_BATCH_NOT_FOUND` */
  batchPipelines(input: BatchPipelinesQuery, call: Call): Promise<Reply<PipelinePage>>;

  /**
   * A fresh approval for the owner to sign, of a batch that waits for it; execute takes any that was issued.
   * @throws `ERR_BATCH_NOT_FOUND`, `ERR_BATCH_NOT_FINALIZED`; `ERR_INVALID_REQUEST` when nothing waits for it any more.
   */
  issueApproval(input: IssueApprovalRequest, call: Call): Promise<Reply<InitBatchResult>>;

  /**
   * Ends whatever of a batch has not been executed: votes it down, closes its accounts, gives back rent and caps. The same
   * answer when it was cancelled before.
   * @throws `ERR_BATCH_NOT_FOUND`, `ERR_BATCH_IN_PROGRESS`; `ERR_INVALID_REQUEST` for a batch that is executed.
   */
  cancelBatch(input: CancelBatchRequest, call: Call): Promise<Reply<CancelBatchResult>>;

  close(): Promise<void>;
}
