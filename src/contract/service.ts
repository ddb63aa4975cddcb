/** The service: six operations, the same whether they are reached over HTTP or run in this process. */
import type { Call, Reply } from './call.js';
import type {
  Batch,
  ExecuteBatchRequest,
  ExecuteBatchResult,
  InitBatchRequest,
  InitBatchResult,
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

  close(): Promise<void>;
}
