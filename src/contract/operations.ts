/** The operations as data: path, scope, limits and shapes. Client, server and OpenAPI are generated from this table. */
import type * as z from 'zod';
import type { ErrorCode } from '../errors/codes.js';
import type { Scope } from '../values/key-terms.js';
import * as batch from './schemas/batch.js';
import * as burn from './schemas/burn.js';
import {
  historyPageSchema,
  historyQuerySchema,
  keySchema,
  reportQuerySchema,
  reportSchema,
} from './schemas/report.js';

/** `points` requests at once, and as many again spread evenly over `windowSeconds` (contract, section 1.5). */
export interface Rate {
  readonly points: number;
  readonly windowSeconds: number;
}

export interface RateLimit extends Rate {
  readonly name: string;
}

interface Entry {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly summary: string;
  readonly word: string;
  readonly deprecated: boolean;
  readonly scopes: readonly Scope[];
  readonly idempotencyKey: 'uuid' | 'optional' | 'none';
  readonly rateLimit: RateLimit;
  /** Path parameters, with the query parameters of a GET or the body fields of a POST; `null` for no input. */
  readonly request: z.ZodType | null;
  readonly response: z.ZodType;
  readonly ownErrors: readonly ErrorCode[];
  /** Code for an unexpected error (contract, section 1.3). @default `ERR_INTERNAL` */
  readonly failure?: ErrorCode;
}

export type OperationId = keyof typeof TABLE;

export interface Operation extends Entry {
  readonly id: OperationId;
  readonly errors: readonly ErrorCode[];
}

export const needsNoBody = ({ path }: Operation): boolean => path.includes('{');

export const COMMON_ERRORS: readonly ErrorCode[] = [
  'ERR_UNAUTHORIZED',
  'ERR_KEY_SCOPES_UNAUTHORIZED',
  'ERR_RATE_LIMIT_EXCEEDED',
  'ERR_INTERNAL',
  'ERR_UNAVAILABLE',
];

export const BODY_ERRORS = [
  'ERR_INVALID_REQUEST',
  'ERR_PAYLOAD_TOO_LARGE',
  'ERR_UNSUPPORTED_MEDIA_TYPE',
] as const;
const KEY_ERRORS = ['ERR_DUPLICATE_IDEMPOTENCY_KEY', 'ERR_IDEMPOTENCY_KEY_REUSED'] as const;
/** Operations that write and sign also fail when the store lacks history, or the operator's external signer fails. */
const SIGNING_ERRORS = ['ERR_STORE_BEHIND', 'ERR_SIGNER_FAILED', 'ERR_SIGNATURE_WRONG'] as const;

const errorsOf = ({ method, request, idempotencyKey, ownErrors, failure }: Entry): readonly ErrorCode[] => [
  ...(method === 'POST' ? [...BODY_ERRORS, ...SIGNING_ERRORS] : []),
  ...(method === 'GET' && request !== null ? (['ERR_INVALID_REQUEST'] as const) : []),
  ...(idempotencyKey === 'none' ? [] : KEY_ERRORS),
  ...ownErrors,
  ...(failure === undefined ? [] : [failure]),
];

const rate = (name: string, points = 10, windowSeconds = 1): RateLimit => ({ name, points, windowSeconds });

const READ = {
  method: 'GET',
  deprecated: false,
  scopes: ['burn', 'airdrop'],
  idempotencyKey: 'none',
  request: null,
  ownErrors: [],
} as const;
const ACT = { ...READ, method: 'POST', idempotencyKey: 'optional' } as const;
const BURN = {
  ...ACT,
  deprecated: true,
  scopes: ['burn'],
  ownErrors: [
    'ERR_TOKEN_NOT_FOUND',
    'ERR_CREATE_API_EVENT_FAILED',
    'ERR_INVALID_PROOF',
    'ERR_BURN_TOKENOMICS_FAILED',
    'ERR_DAILY_LIMIT_EXCEEDED',
  ],
} as const;

const OF_BATCH = ['ERR_FLYWHEEL_NOT_FOUND', 'ERR_BATCH_NOT_FOUND'] as const;
const OF_VOTE = [
  'ERR_INVALID_PROOF',
  'ERR_BATCH_IN_PROGRESS',
  'ERR_INVALID_SIGNED_TX',
  'ERR_APPROVAL_EXPIRED',
  'ERR_INSUFFICIENT_FUNDS',
] as const;

const at = (path: string, word: string, rateLimit: RateLimit) => ({ path, word, rateLimit });

/** Comments of the entries become those of the methods of `Service`. */
const TABLE = {
  /** Burns once. With an idempotency key, repeating a success returns the first result and sends nothing. */
  burn: {
    ...BURN,
    ...at('/v1/tokenomics/burn', 'burn', rate('burn')),
    summary: 'Burn tokens and record the proof.',
    request: burn.burnRequestSchema,
    response: burn.burnResultSchema,
  },
  /**
   * Burns each element independently; a failed element does not fail the request. Both lists of the answer are in request order.
   */
  burnBatch: {
    ...BURN,
    ...at('/v1/tokenomics/burn-batch', 'burn-batch', rate('api-key-burn', 1, 10)),
    summary: 'Burn tokens for each element of a list, independently.',
    idempotencyKey: 'uuid',
    request: burn.burnBatchRequestSchema,
    response: burn.burnBatchResultSchema,
  },
  /** A page may have fewer items than the limit although another page follows. */
  listBurns: {
    ...READ,
    ...at('/v1/tokenomics/burns', 'burns', rate('burn-list')),
    summary: "List the burns of the key's token, newest first.",
    request: burn.listBurnsQuerySchema,
    response: burn.burnPageSchema,
  },
  history: {
    ...READ,
    ...at('/v1/tokenomics/history', 'history', rate('history')),
    summary: 'List every burn and airdrop, newest first.',
    request: historyQuerySchema,
    response: historyPageSchema,
  },
  report: {
    ...READ,
    ...at('/v1/tokenomics/report', 'report', rate('report', 5, 10)),
    summary: 'Show totals of burns, airdrops and costs.',
    request: reportQuerySchema,
    response: reportSchema,
  },
  describeKey: {
    ...READ,
    ...at('/v1/tokenomics/key', 'key', rate('key')),
    summary: 'Show the API key of the request: id, scopes and token.',
    response: keySchema,
  },
  currentBatch: {
    ...READ,
    ...at('/v1/flywheel/batch/current', 'current', rate('batch-current')),
    summary: "Show the current batch of the key's token, or null.",
    response: batch.currentBatchSchema,
    failure: 'ERR_BATCH_CURRENT_FAILED',
  },
  /** A batch of another project is not found. */
  getBatch: {
    ...READ,
    ...at('/v1/flywheel/batch/{batchId}', 'status', rate('batch-status')),
    summary: 'Show a batch.',
    request: batch.getBatchRequestSchema,
    response: batch.batchSchema,
    ownErrors: ['ERR_BATCH_NOT_FOUND'],
  },
  /**
   * Creates one transaction for each pipeline. Creates nothing on chain unless everything is valid. Repeating a failed set-up
   * with the same key continues it.
   */
  initBatch: {
    ...ACT,
    ...at('/v1/flywheel/batch/init', 'init', rate('batch-init', 10, 60)),
    summary: 'Set up a batch from pipelines and return the approval to sign.',
    request: batch.initBatchRequestSchema,
    response: batch.initBatchResultSchema,
    ownErrors: [
      'ERR_FLYWHEEL_NOT_FOUND',
      'ERR_INVALID_PROOF',
      'ERR_ACTION_NOT_SUPPORTED',
      'ERR_PIPELINE_TOO_LARGE',
      'ERR_INSUFFICIENT_FUNDS',
      'ERR_DAILY_LIMIT_EXCEEDED',
    ],
    failure: 'ERR_BATCH_INIT_FAILED',
  },
  /** Returns the stored result for a final batch. */
  executeBatch: {
    ...ACT,
    ...at('/v1/flywheel/batch/execute', 'execute', rate('batch-execute', 10, 60)),
    summary: 'Send the signed approval and execute the batch.',
    request: batch.executeBatchRequestSchema,
    response: batch.executeBatchResultSchema,
    ownErrors: [...OF_BATCH, 'ERR_BATCH_NOT_FINALIZED', ...OF_VOTE, 'ERR_DAILY_LIMIT_EXCEEDED'],
    failure: 'ERR_BATCH_EXECUTE_FAILED',
  },
  listBatches: {
    ...READ,
    ...at('/v1/flywheel/batch', 'list', rate('batch-list')),
    summary: "List the batches of the key's token, newest first.",
    request: batch.listBatchesQuerySchema,
    response: batch.batchPageSchema,
    ownErrors: ['ERR_FLYWHEEL_NOT_FOUND'],
  },
  batchPipelines: {
    ...READ,
    ...at('/v1/flywheel/batch/{batchId}/pipelines', 'pipelines', rate('batch-pipelines')),
    summary: 'List the pipelines of a batch with their outcomes.',
    request: batch.batchPipelinesQuerySchema,
    response: batch.pipelinePageSchema,
    ownErrors: ['ERR_BATCH_NOT_FOUND'],
  },
  /** Execute accepts every vote issued for the batch. `ERR_INVALID_REQUEST` when the batch no longer waits for a vote. */
  issueApproval: {
    ...ACT,
    ...at('/v1/flywheel/batch/{batchId}/approval', 'approval', rate('batch-approval')),
    summary: 'Create a fresh approval for a waiting batch.',
    idempotencyKey: 'none',
    request: batch.issueApprovalRequestSchema,
    response: batch.initBatchResultSchema,
    ownErrors: [...OF_BATCH, 'ERR_BATCH_NOT_FINALIZED', 'ERR_INVALID_PROOF'],
  },
  /** Returns the same answer for a batch cancelled before. `ERR_INVALID_REQUEST` for an executed batch. */
  cancelBatch: {
    ...ACT,
    ...at('/v1/flywheel/batch/{batchId}/cancel', 'cancel', rate('batch-cancel')),
    summary: 'Cancel what a batch has not executed yet.',
    idempotencyKey: 'none',
    request: batch.cancelBatchRequestSchema,
    response: batch.cancelBatchResultSchema,
    ownErrors: [...OF_BATCH, ...OF_VOTE],
  },
} as const satisfies Record<string, Entry>;

type Named = {
  readonly [Id in OperationId]: (typeof TABLE)[Id] & Pick<Operation, 'id' | 'errors'> & { readonly id: Id };
};

export const OPERATIONS = Object.fromEntries(
  Object.entries(TABLE).map(([id, entry]) => [id, { ...entry, id, errors: errorsOf(entry) }]),
) as Named;

export const SUCCESSOR: Operation = OPERATIONS.initBatch;

export const OPERATION_LIST: readonly Operation[] = Object.values(OPERATIONS);

/** Operations with an idempotency key. Records in the store contain these names. */
export type KeyedOperationId = {
  [Id in OperationId]: (typeof TABLE)[Id]['idempotencyKey'] extends 'none' ? never : Id;
}[OperationId];

export const failureOf = (id: OperationId | undefined): ErrorCode =>
  (id && (OPERATIONS[id] as Operation).failure) ?? 'ERR_INTERNAL';

export const pathParameters = ({ path }: Operation): readonly string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].flatMap(([, name]) => name ?? []);
