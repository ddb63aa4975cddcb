/** The contract as a library: operations, shapes, limits, headers and the service interface. */

export type { SourceAction as SupportedAction } from '../actions/registry.js';
export { type Scope, scopeSchema } from '../values/schemas.js';
export type { BatchCost, Call, ElementOutcome, RateLimitState, Reply, ReplyMeta } from './call.js';
export {
  API_KEY_HEADER,
  BATCH_COST_HEADER,
  IDEMPOTENCY_KEY_HEADER,
  IDEMPOTENCY_KEY_UNUSED_HEADER,
  IDEMPOTENT_REPLAYED_HEADER,
  RATE_LIMIT_HEADER,
  RATE_LIMIT_POLICY_HEADER,
  REQUEST_ID_HEADER,
  RETRY_AFTER_HEADER,
} from './headers.js';
export {
  DEFAULT_MAX_WAIT_SECONDS,
  DEFAULT_WAIT_SECONDS,
  IDEMPOTENCY_RETENTION_DAYS,
  MAX_BODY_BYTES,
  MAX_IDEMPOTENCY_KEY_LENGTH,
  MAX_JSON_OBJECTS,
  MAX_JSON_VALUES,
  MAX_OBJECT_KEYS,
  MAX_PATH_PARAMETER_LENGTH,
  MAX_PROOF_BYTES,
  MAX_TRIES,
  REQUEST_TIMEOUT_MS,
} from './limits.js';
export {
  BODY_ERRORS,
  COMMON_ERRORS,
  OPERATIONS,
  type Operation,
  type OperationId,
  type Rate,
  type RateLimit,
} from './operations.js';
export {
  type Action,
  actionSchema,
  type Batch,
  type BatchStatus,
  type BundleExecution,
  batchSchema,
  batchStatusSchema,
  type CompiledPipeline,
  currentBatchSchema,
  type ExecuteBatchRequest,
  type ExecuteBatchResult,
  type ExecuteResult,
  executeBatchRequestSchema,
  executeBatchResultSchema,
  executeResultSchema,
  type InitBatchRequest,
  type InitBatchResult,
  type InitResult,
  initBatchRequestSchema,
  initBatchResultSchema,
  initResultSchema,
  MAX_PIPELINES,
  type Pipeline,
  pipelineSchema,
} from './schemas/batch.js';
export {
  type BurnBatchRequest,
  type BurnBatchResult,
  type BurnError,
  type BurnRequest,
  type BurnResult,
  burnBatchRequestSchema,
  burnBatchResultSchema,
  burnErrorSchema,
  burnRequestSchema,
  burnResultSchema,
  MAX_BURN_BATCH_ELEMENTS,
} from './schemas/burn.js';
export { problemSchema } from './schemas/problem.js';
export type { Service } from './service.js';
export { checkInput, listProblems, parseInput, pathText } from './validate.js';
