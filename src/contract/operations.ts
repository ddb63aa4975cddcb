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
  getBatchRequestSchema,
  initBatchRequestSchema,
  initBatchResultSchema,
  issueApprovalRequestSchema,
  listBatchesQuerySchema,
  pipelinePageSchema,
} from './schemas/batch.js';
import {
  burnBatchRequestSchema,
  burnBatchResultSchema,
  burnPageSchema,
  burnRequestSchema,
  burnResultSchema,
  listBurnsQuerySchema,
} from './schemas/burn.js';
import { keySchema } from './schemas/key.js';
import { reportQuerySchema, reportSchema } from './schemas/report.js';

/** `points` requests at once, and as many again spread evenly over `windowSeconds` (contract, section 1.5). */
export interface Rate {
  readonly points: number;
  readonly windowSeconds: number;
}

/** The rate of an operation, with the name that the `RateLimit` headers give it. */
export interface RateLimit extends Rate {
  readonly name: string;
}

/** What an operation is, to all who serve it or call it. */
interface Entry {
  readonly method: 'GET' | 'POST';
  /** Relative to the base address; parameters in braces. */
  readonly path: string;
  readonly summary: string;
  /** What `serve --rate` calls it. */
  readonly word: string;
  readonly deprecated: boolean;
  /** The key needs one of these. */
  readonly scopes: readonly Scope[];
  readonly idempotencyKey: 'uuid' | 'optional' | 'none';
  /** Does it send transactions to the chain? */
  readonly submits: boolean;
  /** Does it answer a page of a list? Its query has `limit` and `cursor` then. */
  readonly paged: boolean;
  readonly rateLimit: RateLimit;
  /**
   * The input: path parameters, and query parameters of a GET or fields of the body of a POST; `null` where there is none.
   * With the answer it makes the type of the operation in `Service`.
   */
  readonly request: z.ZodType | null;
  readonly response: z.ZodType;
  /** Codes beyond those that any request can get. */
  readonly errors: readonly ErrorCode[];
  /** What becomes of an error that is not one of the contract (contract, section 1.3). @default `ERR_INTERNAL` */
  readonly failure?: ErrorCode;
}

export type OperationId = keyof typeof TABLE;

/** Any operation, with its name. */
export interface Operation extends Entry {
  readonly id: OperationId;
}

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
export const BODY_ERRORS = [
  'ERR_INVALID_REQUEST',
  'ERR_PAYLOAD_TOO_LARGE',
  'ERR_UNSUPPORTED_MEDIA_TYPE',
] as const;
/** Of what takes an idempotency key. */
const KEY_ERRORS = ['ERR_DUPLICATE_IDEMPOTENCY_KEY', 'ERR_IDEMPOTENCY_KEY_REUSED'] as const;

/** Of what writes and signs: the store may have lost some of its history, and a program of the operator's may keep the key. */
const ACT_ERRORS = [...BODY_ERRORS, 'ERR_STORE_BEHIND', 'ERR_SIGNER_FAILED', 'ERR_SIGNATURE_WRONG'] as const;
const BURN_ERRORS = [
  'ERR_CREATE_API_EVENT_FAILED',
  'ERR_INVALID_PROOF',
  'ERR_BURN_TOKENOMICS_FAILED',
  'ERR_DAILY_LIMIT_EXCEEDED',
] as const;

const rate = <Name extends string>(name: Name, points: number, windowSeconds: number) => ({
  ...{ name, points, windowSeconds },
});

const BOTH_SCOPES = ['burn', 'airdrop'] as const;

/** What most operations are that only look. */
const READ = {
  method: 'GET',
  deprecated: false,
  scopes: BOTH_SCOPES,
  idempotencyKey: 'none',
  submits: false,
  paged: false,
} as const;
/** What most are that change something. */
const ACT = { ...READ, method: 'POST', idempotencyKey: 'optional', submits: true } as const;

/** Every operation, named here and nowhere else; the comment on each is that of its method in `Service`. */
const TABLE = {
  /**
   * Burns once. With an idempotency key a repeat of a success returns the first result and does nothing.
   * @throws the codes of the specification, section 7, and of the contract, section 1.3.
   */
  burn: {
    ...ACT,
    path: '/v1/tokenomics/burn',
    summary: 'Burn once on proof.',
    word: 'burn',
    deprecated: true,
    scopes: ['burn'],
    rateLimit: rate('burn', 10, 1),
    request: burnRequestSchema,
    response: burnResultSchema,
    errors: [...ACT_ERRORS, ...KEY_ERRORS, ...BURN_ERRORS],
  },
  /**
   * Burns each element on its own; a failed element does not fail the request. `success` and `errors` are each in the order
   * of the request.
   */
  burnBatch: {
    ...ACT,
    path: '/v1/tokenomics/burn-batch',
    summary: 'Burn many times, each element on its own.',
    word: 'burn-batch',
    deprecated: true,
    scopes: ['burn'],
    idempotencyKey: 'uuid',
    rateLimit: rate('api-key-burn', 1, 10),
    request: burnBatchRequestSchema,
    response: burnBatchResultSchema,
    errors: [...ACT_ERRORS, ...KEY_ERRORS, ...BURN_ERRORS],
  },
  /** Burns of the key's token, newest first; a page may be short of items and have another after it. */
  listBurns: {
    ...READ,
    path: '/v1/tokenomics/burns',
    summary: "The burns of the key's token, newest first.",
    word: 'burns',
    paged: true,
    rateLimit: rate('burn-list', 10, 1),
    request: listBurnsQuerySchema,
    response: burnPageSchema,
    errors: ['ERR_INVALID_REQUEST', 'ERR_TOKEN_NOT_FOUND'],
  },
  /** What was burned and airdropped, period by period, and what it cost. */
  report: {
    ...READ,
    path: '/v1/tokenomics/report',
    summary: 'What was burned and airdropped, and what it cost.',
    word: 'report',
    rateLimit: rate('report', 5, 10),
    request: reportQuerySchema,
    response: reportSchema,
    errors: ['ERR_INVALID_REQUEST', 'ERR_TOKEN_NOT_FOUND'],
  },
  /** Which key it is that asks, what it may do, and for which token. */
  describeKey: {
    ...READ,
    path: '/v1/tokenomics/key',
    summary: 'The key that asks: its id, what it may do, and its token.',
    word: 'key',
    rateLimit: rate('key', 10, 1),
    request: null,
    response: keySchema,
    errors: ['ERR_TOKEN_NOT_FOUND'],
  },
  /** The most recent batch of the key's token that is not final, else `null`. */
  currentBatch: {
    ...READ,
    path: '/v1/flywheel/batch/current',
    summary: "The current batch of the key's token, or null.",
    word: 'current',
    rateLimit: rate('batch-current', 10, 1),
    request: null,
    response: currentBatchSchema,
    errors: ['ERR_BATCH_CURRENT_FAILED'],
    failure: 'ERR_BATCH_CURRENT_FAILED',
  },
  /** @throws `ERR_BATCH_NOT_FOUND`, also for another project's batch. */
  getBatch: {
    ...READ,
    path: '/v1/flywheel/batch/{batchId}',
    summary: 'A batch by its id.',
    word: 'status',
    rateLimit: rate('batch-status', 10, 1),
    request: getBatchRequestSchema,
    response: batchSchema,
    errors: ['ERR_INVALID_REQUEST', 'ERR_BATCH_NOT_FOUND'],
  },
  /**
   * Compiles pipelines into one batch of the multisig, one transaction each, ready for approval. Nothing is created on chain
   * unless everything is valid. Run again with the same key after a failed set-up, it carries on where it stopped.
   */
  initBatch: {
    ...ACT,
    path: '/v1/flywheel/batch/init',
    summary: 'Compile pipelines into one batch and return the approval to sign.',
    word: 'init',
    rateLimit: rate('batch-init', 10, 60),
    request: initBatchRequestSchema,
    response: initBatchResultSchema,
    errors: [
      ...ACT_ERRORS,
      ...KEY_ERRORS,
      'ERR_FLYWHEEL_NOT_FOUND',
      'ERR_INVALID_PROOF',
      'ERR_ACTION_NOT_SUPPORTED',
      'ERR_PIPELINE_TOO_LARGE',
      'ERR_INSUFFICIENT_FUNDS',
      'ERR_DAILY_LIMIT_EXCEEDED',
      'ERR_BATCH_INIT_FAILED',
    ],
    failure: 'ERR_BATCH_INIT_FAILED',
  },
  /** Lands the owner's approval, adds the operator's and executes; the stored result when the batch is final already. */
  executeBatch: {
    ...ACT,
    path: '/v1/flywheel/batch/execute',
    summary: 'Land the approval and execute the batch.',
    word: 'execute',
    rateLimit: rate('batch-execute', 10, 60),
    request: executeBatchRequestSchema,
    response: executeBatchResultSchema,
    errors: [
      ...ACT_ERRORS,
      ...KEY_ERRORS,
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
    failure: 'ERR_BATCH_EXECUTE_FAILED',
  },
  /** Batches of the key's token, newest first. */
  listBatches: {
    ...READ,
    path: '/v1/flywheel/batch',
    summary: "The batches of the key's token, newest first.",
    word: 'list',
    paged: true,
    rateLimit: rate('batch-list', 10, 1),
    request: listBatchesQuerySchema,
    response: batchPageSchema,
    errors: ['ERR_INVALID_REQUEST', 'ERR_FLYWHEEL_NOT_FOUND'],
  },
  /** What each pipeline of a batch was and did, in their order. @throws `ERR_BATCH_NOT_FOUND` */
  batchPipelines: {
    ...READ,
    path: '/v1/flywheel/batch/{batchId}/pipelines',
    summary: 'What each pipeline of a batch was and did.',
    word: 'pipelines',
    paged: true,
    rateLimit: rate('batch-pipelines', 10, 1),
    request: batchPipelinesQuerySchema,
    response: pipelinePageSchema,
    errors: ['ERR_INVALID_REQUEST', 'ERR_BATCH_NOT_FOUND'],
  },
  /**
   * A fresh approval for the owner to sign, of a batch that waits for it; execute takes any that was issued.
   * @throws `ERR_BATCH_NOT_FOUND`, `ERR_BATCH_NOT_FINALIZED`; `ERR_INVALID_REQUEST` when nothing waits for it any more.
   */
  issueApproval: {
    ...ACT,
    path: '/v1/flywheel/batch/{batchId}/approval',
    summary: 'A fresh approval of a batch that waits for its owner.',
    word: 'approval',
    idempotencyKey: 'none',
    submits: false,
    rateLimit: rate('batch-approval', 10, 1),
    request: issueApprovalRequestSchema,
    response: initBatchResultSchema,
    errors: [
      ...ACT_ERRORS,
      'ERR_FLYWHEEL_NOT_FOUND',
      'ERR_BATCH_NOT_FOUND',
      'ERR_BATCH_NOT_FINALIZED',
      'ERR_INVALID_PROOF',
    ],
  },
  /**
   * Ends whatever of a batch has not been executed: votes it down, closes its accounts, gives back rent and caps. The same
   * answer when it was cancelled before.
   * @throws `ERR_BATCH_NOT_FOUND`, `ERR_BATCH_IN_PROGRESS`; `ERR_INVALID_REQUEST` for a batch that is executed.
   */
  cancelBatch: {
    ...ACT,
    path: '/v1/flywheel/batch/{batchId}/cancel',
    summary: 'End whatever of a batch has not been executed, and give back rent and caps.',
    word: 'cancel',
    idempotencyKey: 'none',
    rateLimit: rate('batch-cancel', 10, 1),
    request: cancelBatchRequestSchema,
    response: cancelBatchResultSchema,
    errors: [
      ...ACT_ERRORS,
      'ERR_FLYWHEEL_NOT_FOUND',
      'ERR_BATCH_NOT_FOUND',
      'ERR_BATCH_IN_PROGRESS',
      'ERR_INVALID_SIGNED_TX',
      'ERR_APPROVAL_EXPIRED',
      'ERR_INSUFFICIENT_FUNDS',
    ],
  },
} as const satisfies Record<string, Entry>;

type Named = { readonly [Id in OperationId]: (typeof TABLE)[Id] & { readonly id: Id } };

/** Every operation by its name. */
export const OPERATIONS = Object.fromEntries(
  Object.entries(TABLE).map(([id, entry]) => [id, Object.assign(entry, { id })]),
) as Named;

/** What replaces the deprecated operations. */
export const SUCCESSOR: Operation = OPERATIONS.initBatch;

/** Every operation, in the order in which they are served and described. */
export const OPERATION_LIST: readonly Operation[] = Object.values(OPERATIONS);

/** The operations that a request may bring an idempotency key to; its record in the store names one of them. */
export type KeyedOperationId = {
  [Id in OperationId]: (typeof TABLE)[Id]['idempotencyKey'] extends 'none' ? never : Id;
}[OperationId];

/** The code for an unforeseen failure of an operation, or of none. */
export const failureOf = (id: OperationId | undefined): ErrorCode =>
  (id && (OPERATIONS[id] as Operation).failure) ?? 'ERR_INTERNAL';

/** Parameters in the path of an operation, in order. */
export const pathParameters = ({ path }: Operation): readonly string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].flatMap(([, name]) => name ?? []);
