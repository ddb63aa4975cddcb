/** The operations as data: path, scope, limit and shape, from which client, server and OpenAPI are made. */
import type * as z from 'zod';
import type { ErrorCode } from '../errors/codes.js';
import type { Scope } from '../values/schemas.js';
import {
  batchPageSchema,
  batchPipelinesQuerySchema,
  batchSchema,
  cancelBatchRequestSchema,
  cancelBatchResultSchema,
  currentBatchSchema,
  executeBatchRequestSchema,
  executeBatchResultSchema,
  initBatchRequestSchema,
  initBatchResultSchema,
  issueApprovalRequestSchema,
  listBatchesQuerySchema,
  pipelinePageSchema,
} from './schemas/batch.js';
import {
  burnBatchRequestSchema,
  burnBatchResultSchema,
  burnRequestSchema,
  burnResultSchema,
} from './schemas/burn.js';

/** `points` requests at once, and as many again spread evenly over `windowSeconds` (contract, section 1.5). */
export interface Rate {
  readonly points: number;
  readonly windowSeconds: number;
}

/** The rate of an operation, with the name that the `RateLimit` headers give it. */
export interface RateLimit extends Rate {
  readonly name: string;
}

export interface Operation {
  readonly id: OperationId;
  readonly method: 'GET' | 'POST';
  /** Relative to the base address; parameters in braces. */
  readonly path: string;
  readonly summary: string;
  readonly deprecated: boolean;
  /** The key needs one of these. */
  readonly scopes: readonly Scope[];
  readonly idempotencyKey: 'uuid' | 'optional' | 'none';
  readonly rateLimit: RateLimit;
  /** The input: path parameters, and query parameters of a GET or fields of the body of a POST; `null` where there is none. */
  readonly request: z.ZodType | null;
  readonly response: z.ZodType;
  /** Codes beyond those that any request can get. */
  readonly errors: readonly ErrorCode[];
}

export type OperationId =
  | 'burn'
  | 'burnBatch'
  | 'getBatch'
  | 'currentBatch'
  | 'initBatch'
  | 'executeBatch'
  | 'listBatches'
  | 'batchPipelines'
  | 'issueApproval'
  | 'cancelBatch';

/** May the body of a POST be missing? All that is needed is in its path then. */
export const needsNoBody = ({ path }: Operation): boolean => path.includes('{');

/** Codes that every operation can answer. */
export const COMMON_ERRORS: readonly ErrorCode[] = [
  'ERR_UNAUTHORIZED',
  'ERR_KEY_SCOPES_UNAUTHORIZED',
  'ERR_TOKEN_NOT_FOUND',
  'ERR_RATE_LIMIT_EXCEEDED',
  'ERR_INTERNAL',
  'ERR_UNAVAILABLE',
];

/** Codes of every operation that takes a body. */
export const BODY_ERRORS: readonly ErrorCode[] = [
  'ERR_INVALID_REQUEST',
  'ERR_PAYLOAD_TOO_LARGE',
  'ERR_UNSUPPORTED_MEDIA_TYPE',
  'ERR_DUPLICATE_IDEMPOTENCY_KEY',
  'ERR_IDEMPOTENCY_KEY_REUSED',
];

const BURN_ERRORS: readonly ErrorCode[] = [
  'ERR_CREATE_API_EVENT_FAILED',
  'ERR_INVALID_PROOF',
  'ERR_BURN_TOKENOMICS_FAILED',
  'ERR_DAILY_LIMIT_EXCEEDED',
];

export const OPERATIONS = {
  burn: {
    id: 'burn',
    method: 'POST',
    path: '/v1/tokenomics/burn',
    summary: 'Burn once on proof.',
    deprecated: true,
    scopes: ['burn'],
    idempotencyKey: 'optional',
    rateLimit: { name: 'burn', points: 10, windowSeconds: 1 },
    request: burnRequestSchema,
    response: burnResultSchema,
    errors: [...BODY_ERRORS, ...BURN_ERRORS],
  },
  burnBatch: {
    id: 'burnBatch',
    method: 'POST',
    path: '/v1/tokenomics/burn-batch',
    summary: 'Burn many times, each element on its own.',
    deprecated: true,
    scopes: ['burn'],
    idempotencyKey: 'uuid',
    rateLimit: { name: 'api-key-burn', points: 1, windowSeconds: 10 },
    request: burnBatchRequestSchema,
    response: burnBatchResultSchema,
    errors: [...BODY_ERRORS, ...BURN_ERRORS],
  },
  currentBatch: {
    id: 'currentBatch',
    method: 'GET',
    path: '/v1/flywheel/batch/current',
    summary: "The current batch of the key's token, or null.",
    deprecated: false,
    scopes: ['burn', 'airdrop'],
    idempotencyKey: 'none',
    rateLimit: { name: 'batch-current', points: 10, windowSeconds: 1 },
    request: null,
    response: currentBatchSchema,
    errors: ['ERR_BATCH_CURRENT_FAILED'],
  },
  getBatch: {
    id: 'getBatch',
    method: 'GET',
    path: '/v1/flywheel/batch/{batchId}',
    summary: 'A batch by its id.',
    deprecated: false,
    scopes: ['burn', 'airdrop'],
    idempotencyKey: 'none',
    rateLimit: { name: 'batch-status', points: 10, windowSeconds: 1 },
    request: null,
    response: batchSchema,
    errors: ['ERR_INVALID_REQUEST', 'ERR_BATCH_NOT_FOUND'],
  },
  initBatch: {
    id: 'initBatch',
    method: 'POST',
    path: '/v1/flywheel/batch/init',
    summary: 'Compile pipelines into one batch and return the approval to sign.',
    deprecated: false,
    scopes: ['burn', 'airdrop'],
    idempotencyKey: 'optional',
    rateLimit: { name: 'batch-init', points: 10, windowSeconds: 60 },
    request: initBatchRequestSchema,
    response: initBatchResultSchema,
    errors: [
      ...BODY_ERRORS,
      'ERR_FLYWHEEL_NOT_FOUND',
      'ERR_INVALID_PROOF',
      'ERR_ACTION_NOT_SUPPORTED',
      'ERR_PIPELINE_TOO_LARGE',
      'ERR_INSUFFICIENT_FUNDS',
      'ERR_DAILY_LIMIT_EXCEEDED',
      'ERR_BATCH_INIT_FAILED',
    ],
  },
  executeBatch: {
    id: 'executeBatch',
    method: 'POST',
    path: '/v1/flywheel/batch/execute',
    summary: 'Land the approval and execute the batch.',
    deprecated: false,
    scopes: ['burn', 'airdrop'],
    idempotencyKey: 'optional',
    rateLimit: { name: 'batch-execute', points: 10, windowSeconds: 60 },
    request: executeBatchRequestSchema,
    response: executeBatchResultSchema,
    errors: [
      ...BODY_ERRORS,
      'ERR_FLYWHEEL_NOT_FOUND',
      'ERR_BATCH_NOT_FOUND',
      'ERR_BATCH_NOT_FINALIZED',
      'ERR_BATCH_IN_PROGRESS',
      'ERR_INVALID_SIGNED_TX',
      'ERR_APPROVAL_EXPIRED',
      'ERR_INSUFFICIENT_FUNDS',
      'ERR_DAILY_LIMIT_EXCEEDED',
      'ERR_BATCH_EXECUTE_FAILED',
    ],
  },
  listBatches: {
    id: 'listBatches',
    method: 'GET',
    path: '/v1/flywheel/batch',
    summary: "The batches of the key's token, newest first.",
    deprecated: false,
    scopes: ['burn', 'airdrop'],
    idempotencyKey: 'none',
    rateLimit: { name: 'batch-list', points: 10, windowSeconds: 1 },
    request: listBatchesQuerySchema,
    response: batchPageSchema,
    errors: ['ERR_INVALID_REQUEST', 'ERR_FLYWHEEL_NOT_FOUND'],
  },
  batchPipelines: {
    id: 'batchPipelines',
    method: 'GET',
    path: '/v1/flywheel/batch/{batchId}/pipelines',
    summary: 'What each pipeline of a batch was and did.',
    deprecated: false,
    scopes: ['burn', 'airdrop'],
    idempotencyKey: 'none',
    rateLimit: { name: 'batch-pipelines', points: 10, windowSeconds: 1 },
    request: batchPipelinesQuerySchema,
    response: pipelinePageSchema,
    errors: ['ERR_INVALID_REQUEST', 'ERR_BATCH_NOT_FOUND'],
  },
  issueApproval: {
    id: 'issueApproval',
    method: 'POST',
    path: '/v1/flywheel/batch/{batchId}/approval',
    summary: 'A fresh approval of a batch that waits for its owner.',
    deprecated: false,
    scopes: ['burn', 'airdrop'],
    idempotencyKey: 'none',
    rateLimit: { name: 'batch-approval', points: 10, windowSeconds: 1 },
    request: issueApprovalRequestSchema,
    response: initBatchResultSchema,
    errors: [
      'ERR_INVALID_REQUEST',
      'ERR_PAYLOAD_TOO_LARGE',
      'ERR_UNSUPPORTED_MEDIA_TYPE',
      'ERR_FLYWHEEL_NOT_FOUND',
      'ERR_BATCH_NOT_FOUND',
      'ERR_BATCH_NOT_FINALIZED',
    ],
  },
  cancelBatch: {
    id: 'cancelBatch',
    method: 'POST',
    path: '/v1/flywheel/batch/{batchId}/cancel',
    summary: 'End whatever of a batch has not been executed, and give back rent and caps.',
    deprecated: false,
    scopes: ['burn', 'airdrop'],
    idempotencyKey: 'none',
    rateLimit: { name: 'batch-cancel', points: 10, windowSeconds: 1 },
    request: cancelBatchRequestSchema,
    response: cancelBatchResultSchema,
    errors: [
      'ERR_INVALID_REQUEST',
      'ERR_PAYLOAD_TOO_LARGE',
      'ERR_UNSUPPORTED_MEDIA_TYPE',
      'ERR_FLYWHEEL_NOT_FOUND',
      'ERR_BATCH_NOT_FOUND',
      'ERR_BATCH_IN_PROGRESS',
      'ERR_INVALID_SIGNED_TX',
      'ERR_APPROVAL_EXPIRED',
      'ERR_INSUFFICIENT_FUNDS',
    ],
  },
} as const satisfies Record<OperationId, Operation>;
