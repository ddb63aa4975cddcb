/** The responses of OpenAPI: what an operation answers, with which headers, and what it is refused with. */
import { ERRORS, type ErrorCode } from '../errors/codes.js';
import { EXAMPLES } from './examples.js';
import {
  BATCH_COST_HEADER,
  IDEMPOTENCY_KEY_UNUSED_HEADER,
  IDEMPOTENT_REPLAYED_HEADER,
  RATE_LIMIT_HEADER,
  RATE_LIMIT_POLICY_HEADER,
  REQUEST_ID_HEADER,
  RETRY_AFTER_HEADER,
} from './headers.js';
import type { Json } from './openapi-schemas.js';
import { COMMON_ERRORS, type Operation } from './operations.js';

/** Statuses for what is not even a request; the code is ERR_INVALID_REQUEST. */
const TRANSPORT_STATUSES: Readonly<Record<string, string>> = {
  408: 'The request did not arrive in time.',
  431: 'The header lines are too large.',
};

const header = (description: string, type = 'string', required = false): Json => ({
  description,
  required,
  schema: { type },
});

const REQUEST_ID = header(
  'The request id of the client, or a new one. Part of every log line and error.',
  'string',
  true,
);

const RATE_LIMIT_HEADERS: Json = {
  [RATE_LIMIT_POLICY_HEADER]: header(
    'Quota and window in seconds: `"burn";q=10;w=1` (draft-ietf-httpapi-ratelimit-headers).',
    'string',
    true,
  ),
  [RATE_LIMIT_HEADER]: header(
    'Remaining requests, and seconds until the full quota is available again: `"burn";r=9;t=1`.',
    'string',
    true,
  ),
};

const RETRY_AFTER = header('Seconds to wait before a retry.', 'integer', true);

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** Does an answer of this status say how long to wait? 409 only for a key in use, so it may. */
const retryHeader = (status: number): Json =>
  status === 429 || status === 503
    ? { [RETRY_AFTER_HEADER]: RETRY_AFTER }
    : status === 409
      ? { [RETRY_AFTER_HEADER]: { ...RETRY_AFTER, required: false } }
      : {};

/** Does a refusal of this status say whether the key was used? One of execute does not: a batch is its own key. */
const keyHeader = (operation: Operation, status: number): Json =>
  status !== 400 || operation.idempotencyKey === 'none' || operation.id === 'executeBatch'
    ? {}
    : {
        [IDEMPOTENCY_KEY_UNUSED_HEADER]: header(
          '`true` when no request with this idempotency key, this one included, did or is doing anything.',
        ),
      };

function problemResponse(operation: Operation, status: number, codes: readonly ErrorCode[]): Json {
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].when}.`).join(' '),
    headers: {
      [REQUEST_ID_HEADER]: REQUEST_ID,
      ...RATE_LIMIT_HEADERS,
      ...retryHeader(status),
      ...keyHeader(operation, status),
    },
    content: {
      'application/json': {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/Problem' },
            { type: 'object', properties: { error: { type: 'string', enum: codes } } },
          ],
        },
        examples: Object.fromEntries(
          codes.map((code) => [code, { value: { error: code, message: sentence(ERRORS[code].when) } }]),
        ),
      },
    },
  };
}

function transportResponse(description: string): Json {
  return {
    description,
    headers: { [REQUEST_ID_HEADER]: REQUEST_ID },
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } },
  };
}

/** What an operation may be refused with, by status. */
export function problemResponses(operation: Operation): Record<string, Json> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set([...COMMON_ERRORS, ...operation.errors])) {
    const status = ERRORS[code].status;
    if (status !== null) byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const responses: Record<string, Json> = {};
  for (const [status, codes] of byStatus) responses[status] = problemResponse(operation, status, codes);
  for (const [status, text] of Object.entries(TRANSPORT_STATUSES))
    responses[status] = transportResponse(text);
  return responses;
}

const DEPRECATION_HEADERS: Json = {
  deprecation: header('Since when, as `@` and Unix seconds (RFC 9745).', 'string', true),
  link: header('The operation that replaces this one, and its documentation.', 'string', true),
};

/** What an operation answers when it is done. @param schema - of its result. */
export function successResponse(operation: Operation, schema: unknown): Json {
  return {
    description:
      operation.id === 'currentBatch' ? 'The current batch, or `null` when there is none.' : 'Done.',
    headers: {
      [REQUEST_ID_HEADER]: REQUEST_ID,
      ...RATE_LIMIT_HEADERS,
      ...(operation.idempotencyKey === 'none'
        ? {}
        : {
            [IDEMPOTENT_REPLAYED_HEADER]: header(
              '`true` when this is the stored answer of an earlier request.',
            ),
          }),
      ...(operation.deprecated
        ? DEPRECATION_HEADERS
        : { [BATCH_COST_HEADER]: header('Lamports so far: `fee=…;rent-paid=…;rent-reclaimed=…`.') }),
    },
    content: { 'application/json': { schema, example: EXAMPLES[operation.id].response } },
  };
}
