/** The operations as data: path, scope, limit and shape, from which client, server and OpenAPI are made. */
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

/** The rate of an operation, with the name that the `RateLimit` headers give it. */
export interface RateLimit extends Rate {
  readonly name: string;
}

/** What of an operation is not the same for most; see {@link Operation} for the rest. */
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
  /** Codes beyond those that follow from the rest of the entry. */
  readonly ownErrors: readonly ErrorCode[];
  /** What becomes of an error that is not one of the contract (contract, section 1.3). @default `ERR_INTERNAL` */
  readonly failure?: ErrorCode;
}

export type OperationId = keyof typeof TABLE;

/** Any operation, with its name. */
export interface Operation extends Entry {
  readonly id: OperationId;
  /** All codes beyond {@link COMMON_ERRORS}. */
  readonly errors: readonly ErrorCode[];
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
const SIGNING_ERRORS = ['ERR_STORE_BEHIND', 'ERR_SIGNER_FAILED', 'ERR_SIGNATURE_WRONG'] as const;

const errorsOf = ({ method, request, idempotencyKey, ownErrors, failure }: Entry): readonly ErrorCode[] => [
  ...(method === 'POST' ? [...BODY_ERRORS, ...SIGNING_ERRORS] : []),
  ...(method === 'GET' && request !== null ? (['ERR_INVALID_REQUEST'] as const) : []),
  ...(idempotencyKey === 'none' ? [] : KEY_ERRORS),
  ...ownErrors,
  ...(failure === undefined ? [] : [failure]),
];

const rate = (name: string, points = 10, windowSeconds = 1): RateLimit => ({ name, points, windowSeconds });

/** What most operations are that only look. */
const READ = {
  method: 'GET',
  deprecated: false,
  scopes: ['burn', 'airdrop'],
  idempotencyKey: 'none',
  submits: false,
  paged: false,
  request: null,
  ownErrors: [],
} as const;
const LIST = { ...READ, paged: true } as const;
/** What most are that change something. */
const ACT = { ...READ, method: 'POST', idempotencyKey: 'optional', submits: true } as const;
const BURN = {
  ...ACT,
  deprecated: true,
  scopes: ['burn'],
  ownErrors: [
    'ERR_CREATE_API_EVENT_FAILED',
    'ERR_INVALID_PROOF',
    'ERR_BURN_TOKENOMICS_FAILED',
    'ERR_DAILY_LIMIT_EXCEEDED',
  ],
} as const;

/** Every operation, named here and nowhere else; the comment on each is that of its method in `Service`. */
const TABLE = {
  /** Burns once. With an idempotency key a repeat of a success returns the first result and does nothing. */
  burn: {
    ...BURN,
    path: '/v1/tokenomics/burn',
    summary: 'Burn tokens and record the proof.',
    word: 'burn',
    rateLimit: rate('burn'),
    request: burn.burnRequestSchema,
    response: burn.burnResultSchema,
  },
  /** Burns each element on its own; a failed one does not fail the request. Both lists of the answer are in its order. */
  burnBatch: {
    ...BURN,
    path: '/v1/tokenomics/burn-batch',
    summary: 'Burn tokens for each element of a list, independently.',
    word: 'burn-batch',
    idempotencyKey: 'uuid',
    rateLimit: rate('api-key-burn', 1, 10),
    request: burn.burnBatchRequestSchema,
    response: burn.burnBatchResultSchema,
  },
  /** A page may be short of items and have another after it. */
  listBurns: {
    ...LIST,
    path: '/v1/tokenomics/burns',
    summary: "List the burns of the key's token, newest first.",
    word: 'burns',
    rateLimit: rate('burn-list'),
    request: burn.listBurnsQuerySchema,
    response: burn.burnPageSchema,
  },
  /** What burned and was airdropped, alone or in a batch; a row for each. */
  history: {
    ...LIST,
    path: '/v1/tokenomics/history',
    summary: 'List every burn and airdrop, newest first.',
    word: 'history',
    rateLimit: rate('history'),
    request: historyQuerySchema,
    response: historyPageSchema,
  },
  report: {
    ...READ,
    path: '/v1/tokenomics/report',
    summary: 'Show totals of burns, airdrops and costs.',
    word: 'report',
    rateLimit: rate('report', 5, 10),
    request: reportQuerySchema,
    response: reportSchema,
  },
  describeKey: {
    ...READ,
    path: '/v1/tokenomics/key',
    summary: 'Show the API key of the request: id, scopes and token.',
    word: 'key',
    rateLimit: rate('key'),
    response: keySchema,
  },
  /** The most recent batch that is not final. */
  currentBatch: {
    ...READ,
    path: '/v1/flywheel/batch/current',
    summary: "Show the current batch of the key's token, or null.",
    word: 'current',
    rateLimit: rate('batch-current'),
    response: batch.currentBatchSchema,
    failure: 'ERR_BATCH_CURRENT_FAILED',
  },
  /** Another project's batch is not found either. */
  getBatch: {
    ...READ,
    path: '/v1/flywheel/batch/{batchId}',
    summary: 'Show a batch.',
    word: 'status',
    rateLimit: rate('batch-status'),
    request: batch.getBatchRequestSchema,
    response: batch.batchSchema,
    ownErrors: ['ERR_BATCH_NOT_FOUND'],
  },
  /**
   * One transaction for each pipeline. Nothing is created on chain unless everything is valid. Run again with the same key after a
   * failed set-up, it carries on where it stopped.
   */
  initBatch: {
    ...ACT,
    path: '/v1/flywheel/batch/init',
    summary: 'Set up a batch from pipelines and return the approval to sign.',
    word: 'init',
    rateLimit: rate('batch-init', 10, 60),
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
  /** The stored result when the batch is final already. */
  executeBatch: {
    ...ACT,
    path: '/v1/flywheel/batch/execute',
    summary: 'Send the signed approval and execute the batch.',
    word: 'execute',
    rateLimit: rate('batch-execute', 10, 60),
    request: batch.executeBatchRequestSchema,
    response: batch.executeBatchResultSchema,
    ownErrors: [
      'ERR_FLYWHEEL_NOT_FOUND',
      'ERR_BATCH_NOT_FOUND',
      'ERR_BATCH_NOT_FINALIZED',
      'ERR_BATCH_IN_PROGRESS',
      'ERR_INVALID_SIGNED_TX',
      'ERR_APPROVAL_EXPIRED',
      'ERR_INSUFFICIENT_FUNDS',
      'ERR_DAILY_LIMIT_EXCEEDED',
    ],
    failure: 'ERR_BATCH_EXECUTE_FAILED',
  },
  listBatches: {
    ...LIST,
    path: '/v1/flywheel/batch',
    summary: "List the batches of the key's token, newest first.",
    word: 'list',
    rateLimit: rate('batch-list'),
    request: batch.listBatchesQuerySchema,
    response: batch.batchPageSchema,
    ownErrors: ['ERR_FLYWHEEL_NOT_FOUND'],
  },
  /** In their order. */
  batchPipelines: {
    ...LIST,
    path: '/v1/flywheel/batch/{batchId}/pipelines',
    summary: 'List the pipelines of a batch with their outcomes.',
    word: 'pipelines',
    rateLimit: rate('batch-pipelines'),
    request: batch.batchPipelinesQuerySchema,
    response: batch.pipelinePageSchema,
    ownErrors: ['ERR_BATCH_NOT_FOUND'],
  },
  /** Execute takes any that was issued. `ERR_INVALID_REQUEST` when nothing waits for it any more. */
  issueApproval: {
    ...ACT,
    path: '/v1/flywheel/batch/{batchId}/approval',
    summary: 'Create a fresh approval for a waiting batch.',
    word: 'approval',
    idempotencyKey: 'none',
    submits: false,
    rateLimit: rate('batch-approval'),
    request: batch.issueApprovalRequestSchema,
    response: batch.initBatchResultSchema,
    ownErrors: [
      'ERR_FLYWHEEL_NOT_FOUND',
      'ERR_BATCH_NOT_FOUND',
      'ERR_BATCH_NOT_FINALIZED',
      'ERR_INVALID_PROOF',
    ],
  },
  /** The same answer when it was cancelled before. `ERR_INVALID_REQUEST` for a batch that is executed. */
  cancelBatch: {
    ...ACT,
    path: '/v1/flywheel/batch/{batchId}/cancel',
    summary: 'Cancel what a batch has not executed yet.',
    word: 'cancel',
    idempotencyKey: 'none',
    rateLimit: rate('batch-cancel'),
    request: batch.cancelBatchRequestSchema,
    response: batch.cancelBatchResultSchema,
    ownErrors: [
      'ERR_FLYWHEEL_NOT_FOUND',
      'ERR_BATCH_NOT_FOUND',
      'ERR_BATCH_IN_PROGRESS',
      'ERR_INVALID_SIGNED_TX',
      'ERR_APPROVAL_EXPIRED',
      'ERR_INSUFFICIENT_FUNDS',
    ],
  },
} as const satisfies Record<string, Entry>;

type Named = {
  readonly [Id in OperationId]: (typeof TABLE)[Id] & Pick<Operation, 'id' | 'errors'> & { readonly id: Id };
};

/** Every operation by its name. */
export const OPERATIONS = Object.fromEntries(
  Object.entries(TABLE).map(([id, entry]) => [id, { ...entry, id, errors: errorsOf(entry) }]),
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
