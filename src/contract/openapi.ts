/** OpenAPI 3.1 document of the service, generated from the operations; and JSON Schemas, completed where zod's checks are functions. */
import * as z from 'zod';
import { ERRORS, type ErrorCode } from '../errors/codes.js';
import { addressSchema, base64Schema, uuidSchema } from '../values/schemas.js';
import {
  BATCH_COST_HEADER,
  IDEMPOTENCY_KEY_HEADER,
  IDEMPOTENCY_KEY_UNUSED_HEADER,
  IDEMPOTENT_REPLAYED_HEADER,
  RATE_LIMIT_HEADER,
  RATE_LIMIT_POLICY_HEADER,
  REQUEST_ID_HEADER,
  RETRY_AFTER_HEADER,
} from './headers.js';
import {
  MAX_BODY_BYTES,
  MAX_BURN_BATCH_ELEMENTS,
  MAX_IDEMPOTENCY_KEY_LENGTH,
  MAX_JSON_OBJECTS,
  MAX_JSON_VALUES,
  MAX_OBJECT_KEYS,
  MAX_PATH_PARAMETER_LENGTH,
  MAX_PIPELINES,
} from './limits.js';
import {
  COMMON_ERRORS,
  needsNoBody,
  OPERATION_LIST,
  type Operation,
  type OperationId,
  type Rate,
  SUCCESSOR,
} from './operations.js';
import { initBatchRequestSchema } from './schemas/batch.js';
import { burnBatchRequestSchema, burnErrorSchema, proofSchema } from './schemas/burn.js';
import { FILE_SCHEMAS } from './schemas/files.js';
import { problemSchema } from './schemas/report.js';

export type Json = Readonly<Record<string, unknown>>;

/** 1,232 bytes, the maximum of a transaction, in base64. */
const MAX_TRANSACTION_BASE64_LENGTH = 1_644;

const STATED = new Map<z.core.$ZodType, Json>([
  [proofSchema, { additionalProperties: true }],
  // An invalid proof is returned as sent, so it can have any type.
  [burnErrorSchema.shape.proof, { type: undefined }],
  [burnBatchRequestSchema, { maxItems: MAX_BURN_BATCH_ELEMENTS }],
  [initBatchRequestSchema.shape.pipelines, { maxItems: MAX_PIPELINES }],
  [uuidSchema, { maxLength: 36 }],
  [addressSchema, { minLength: 32, maxLength: 44 }],
  [base64Schema, { maxLength: MAX_TRANSACTION_BASE64_LENGTH }],
]);

/** JSON Schema cannot express the function that checks a proof; its metadata says `object`. */
const GENERATION = {
  io: 'input',
  unrepresentable: 'any',
  override: ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: object }): void =>
    void Object.assign(jsonSchema, STATED.get(zodSchema)),
} as const;

function jsonSchemaOf(shape: z.ZodType): { readonly schema: Json; readonly definitions: Json } {
  const { $schema: _, $defs, ...schema } = z.toJSONSchema(shape, GENERATION) as Record<string, unknown>;
  return { schema, definitions: ($defs ?? {}) as Json };
}

function referTo(shape: z.ZodType, components: Record<string, unknown>): unknown {
  const { schema, definitions } = jsonSchemaOf(shape);
  const relocated = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/'));
  for (const [name, definition] of Object.entries(definitions)) components[name] = relocated(definition);
  return relocated(schema);
}

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

interface Shape {
  readonly $ref?: string;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly unknown[];
  readonly oneOf?: readonly unknown[];
  readonly items?: unknown;
  readonly properties?: Json;
  readonly required?: readonly string[];
  readonly type?: string;
}

/** Made of the examples of the fields; optional fields are left out. */
function exampleOf(schema: unknown, components: Json): unknown {
  const shape = schema as Shape;
  const { $ref, const: word, enum: words = [word], examples = words, properties = {}, required = [] } = shape;
  const of = (part: unknown): unknown => exampleOf(part, components);
  if ($ref !== undefined) return of(components[$ref.slice($ref.lastIndexOf('/') + 1)]);
  if (examples[0] !== undefined) return examples[0];
  const [choice] = shape.oneOf ?? shape.anyOf ?? [];
  if (choice !== undefined) return of(choice);
  if (shape.items !== undefined) return [of(shape.items)];
  if (shape.type === 'object')
    return Object.fromEntries(required.map((name) => [name, of(properties[name])]));
  return shape.type === 'boolean' ? true : '';
}

export function fileSchema(kind: keyof typeof FILE_SCHEMAS): Json {
  const { schema, definitions } = jsonSchemaOf(FILE_SCHEMAS[kind]);
  const hasDefinitions = Object.keys(definitions).length > 0;
  return { $schema: DIALECT, ...schema, ...(hasDefinitions ? { $defs: definitions } : {}) };
}

type OpenApiOperation = ReturnType<typeof describeOperation>;
export type OpenApiDocument = ReturnType<typeof openApiDocument>;

interface OpenApiOptions {
  readonly apiKeyHeader: string;
  readonly serverUrl: string;
  readonly version: string;
  readonly rateLimits?: Partial<Record<OperationId, Rate>>;
  /** Accept the API key as a bearer token too. @default false */
  readonly bearer?: boolean;
  /** @default 4 MiB */
  readonly maxBodyBytes?: number;
}

function fieldsBesidePath(request: z.ZodType, components: Record<string, unknown>): Json {
  const { properties = {} } = referTo(request, components) as { properties?: Json };
  const { batchId: _, ...fields } = properties;
  return fields as Json;
}

const queryParameters = (request: z.ZodType, components: Record<string, unknown>): readonly Json[] =>
  Object.entries(fieldsBesidePath(request, components)).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    description: (schema as { description?: string }).description ?? `Only with this \`${name}\`.`,
    schema,
  }));

function bodySchema(operation: Operation, request: z.ZodType, components: Record<string, unknown>): unknown {
  if (!needsNoBody(operation)) return referTo(request, components);
  return { type: 'object', properties: fieldsBesidePath(request, components), additionalProperties: false };
}

function parameters(operation: Operation, components: Record<string, unknown>): readonly Json[] {
  const list: Json[] = [];
  if (operation.path.includes('{batchId}')) {
    const { schema } = jsonSchemaOf(uuidSchema);
    const description = `The batch id, a UUID. Anything else is refused with 400, also beyond ${MAX_PATH_PARAMETER_LENGTH} characters.`;
    list.push({ name: 'batchId', in: 'path', required: true, description, schema });
  }
  if (operation.method === 'GET' && operation.request !== null)
    list.push(...queryParameters(operation.request, components));
  if (operation.idempotencyKey !== 'none') {
    const required = operation.idempotencyKey === 'uuid';
    const text = { minLength: 1, maxLength: MAX_IDEMPOTENCY_KEY_LENGTH, pattern: '^[\\x21-\\x7e]+$' };
    list.push({
      ...{ name: IDEMPOTENCY_KEY_HEADER, in: 'header', required },
      description:
        'Repeating a successful request with the same value returns the stored answer and does nothing.',
      schema: { type: 'string', ...(required ? { format: 'uuid' } : text) },
    });
  }
  const description = 'Returned unchanged if it has at most 128 plain characters.';
  const schema = { type: 'string', maxLength: 128 };
  return [...list, { name: REQUEST_ID_HEADER, in: 'header', required: false, description, schema }];
}

const list = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(' or ');

function describe({ scopes, rateLimit, idempotencyKey }: Operation, rate: Rate | undefined): string {
  const { points, windowSeconds } = rate ?? rateLimit;
  return [
    `The key needs the scope ${list(scopes)}.`,
    `At most ${points} in ${windowSeconds} s per key, unless the key has its own limit.`,
    ...(idempotencyKey === 'none'
      ? []
      : ['Repeats of a successful request are answered up to ten times as often.']),
  ].join(' ');
}

function requestBody(operation: Operation, schema: unknown, components: Json, maxBodyBytes: number): Json {
  return {
    required: !needsNoBody(operation),
    description: `JSON with at most ${maxBodyBytes} bytes, ${MAX_JSON_VALUES} values (nested ones included), ${MAX_JSON_OBJECTS} objects, and ${MAX_OBJECT_KEYS} keys per object.`,
    content: { 'application/json': { schema, example: exampleOf(schema, components) } },
  };
}

const TAGS = [
  { name: 'Batches', description: 'Batches of pipelines, approved by the owner.' },
  { name: 'Tokenomics', description: 'Single burns, and reports.' },
] as const;

const tagOf = ({ path }: Operation): string => TAGS[path.startsWith('/v1/flywheel/batch') ? 0 : 1].name;

function describeOperation(
  operation: Operation,
  components: Record<string, unknown>,
  { rateLimits, bearer = false, maxBodyBytes = MAX_BODY_BYTES }: OpenApiOptions,
) {
  const { id, request } = operation;
  const hasBody = request !== null && operation.method !== 'GET';
  return {
    operationId: id,
    summary: operation.summary,
    description: describe(operation, rateLimits?.[id]),
    deprecated: operation.deprecated,
    tags: [tagOf(operation)],
    'x-required-scopes': operation.scopes,
    ...(operation.deprecated ? { 'x-successor': SUCCESSOR.id } : {}),
    security: [{ apiKey: [] }, ...(bearer ? [{ bearer: [] }] : [])],
    parameters: parameters(operation, components),
    ...(hasBody && {
      requestBody: requestBody(
        operation,
        bodySchema(operation, request, components),
        components,
        maxBodyBytes,
      ),
    }),
    responses: {
      200: successResponse(operation, referTo(operation.response, components), components),
      ...problemResponses(operation),
    } as Readonly<Record<string, Json>>,
  };
}

/**
 * The formal schema of the API declares a bearer scheme at its top level, and the key's header at each operation (service
 * specification, section 5).
 */
const securitySchemes = ({ apiKeyHeader, bearer = false }: OpenApiOptions) => ({
  apiKey: { type: 'apiKey', in: 'header', name: apiKeyHeader },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: bearer ? 'The API key as a bearer token.' : 'This server refuses it.',
  },
});

export function openApiDocument(options: OpenApiOptions) {
  const schemas: Record<string, unknown> = {};
  referTo(problemSchema, schemas);
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const operation of OPERATION_LIST) {
    const described = describeOperation(operation, schemas, options);
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: described };
  }
  return {
    openapi: '3.1.0' as const,
    info: {
      title: 'Flywheel',
      version: options.version,
      description: 'Burn and airdrop tokens on proof of user actions. Amounts are whole tokens.',
      contact: { name: 'Operator of this service' },
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    tags: TAGS,
    servers: [{ url: options.serverUrl }],
    security: [{ bearer: [] }],
    paths,
    components: { schemas, securitySchemes: securitySchemes(options) },
  };
}

/** Statuses of requests that are not valid HTTP; the code is ERR_INVALID_REQUEST. */
const TRANSPORT_STATUSES: Readonly<Record<string, string>> = {
  408: 'The request did not arrive in time.',
  431: 'The header lines are too large.',
};

const header = (description: string, more: { type?: string; required?: boolean } = {}): Json => {
  const { type = 'string', required = true } = more;
  return { description, required, schema: { type } };
};

const REQUEST_ID: Json = {
  [REQUEST_ID_HEADER]: header(
    'The request id of the client, or a new one. Part of every log line and error.',
  ),
};

const RATE_LIMIT_HEADERS: Json = {
  [RATE_LIMIT_POLICY_HEADER]: header(
    'Quota and window in seconds: `"burn";q=10;w=1` (draft-ietf-httpapi-ratelimit-headers).',
  ),
  [RATE_LIMIT_HEADER]: header(
    'Remaining requests, and seconds until the full quota is available again: `"burn";r=9;t=1`.',
  ),
};

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** 409 has Retry-After only for a key in use, so there it is optional. */
const retryHeader = (status: number): Json => {
  const wait = { type: 'integer', required: status !== 409 };
  return [409, 429, 503].includes(status)
    ? { [RETRY_AFTER_HEADER]: header('Seconds to wait before a retry.', wait) }
    : {};
};

/** Execute has no key header: a batch is its own idempotency key. */
const keyHeader = (operation: Operation, status: number): Json => {
  if (status !== 400 || operation.idempotencyKey === 'none' || operation.id === 'executeBatch') return {};
  const unused =
    '`true` when no request with this idempotency key, this one included, did or is doing anything.';
  return { [IDEMPOTENCY_KEY_UNUSED_HEADER]: header(unused, { required: false }) };
};

function problemResponse(operation: Operation, status: number, codes: readonly ErrorCode[]): Json {
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].when}.`).join(' '),
    headers: {
      ...REQUEST_ID,
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

const transportResponse = (description: string): Json => ({
  ...{ description, headers: REQUEST_ID },
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } },
});

function problemResponses(operation: Operation): Record<string, Json> {
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

const REPLAYED: Json = {
  [IDEMPOTENT_REPLAYED_HEADER]: header('`true` when this is the stored answer of an earlier request.', {
    required: false,
  }),
};
const COST: Json = {
  [BATCH_COST_HEADER]: header('Lamports that the batch has cost until now: `operator=…;vault=…`.', {
    required: false,
  }),
};
const DEPRECATION_HEADERS: Json = {
  deprecation: header('Since when, as `@` and Unix seconds (RFC 9745).'),
  link: header('The operation that replaces this one, and its documentation.'),
};

const successResponse = (operation: Operation, schema: unknown, components: Json): Json => ({
  description: operation.id === 'currentBatch' ? 'The current batch, or `null` when there is none.' : 'Done.',
  headers: {
    ...REQUEST_ID,
    ...RATE_LIMIT_HEADERS,
    ...(operation.idempotencyKey === 'none' ? {} : REPLAYED),
    ...(operation.deprecated ? DEPRECATION_HEADERS : COST),
  },
  content: { 'application/json': { schema, example: exampleOf(schema, components) } },
});
