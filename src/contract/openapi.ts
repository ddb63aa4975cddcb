/** OpenAPI 3.1 document of the service, generated from the operations; and JSON Schemas of files. */
import * as z from 'zod';
import { ERRORS, type ErrorCode } from '../errors/codes.js';
import { uuidSchema } from '../values/schemas.js';
import * as names from './headers.js';
import * as limits from './limits.js';
import {
  COMMON_ERRORS,
  needsNoBody,
  OPERATION_LIST,
  type Operation,
  type OperationId,
  type Rate,
  SUCCESSOR,
} from './operations.js';
import { FILE_SCHEMAS } from './schemas/files.js';
import { problemSchema } from './schemas/report.js';

export type Json = Readonly<Record<string, unknown>>;

/** JSON Schema cannot express checks that are functions or need a limit of the server; the metadata of the shape says what they mean. */
function jsonSchemaOf(shape: z.ZodType): { readonly schema: Json; readonly definitions: Json } {
  const { $schema: _, $defs, ...schema } = z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' });
  return { schema, definitions: $defs ?? {} };
}

type Components = Record<string, unknown>;

/** The schema of a shape; its named parts become components. */
function referTo(shape: z.ZodType, components: Components): Json {
  const found = JSON.stringify(jsonSchemaOf(shape)).replaceAll('"#/$defs/', '"#/components/schemas/');
  const { schema, definitions } = JSON.parse(found) as ReturnType<typeof jsonSchemaOf>;
  Object.assign(components, definitions);
  return schema;
}

/** Made of the examples of the fields; optional fields are left out. */
function exampleOf(schema: unknown, components: Json): unknown {
  const shape = schema as z.core.JSONSchema.BaseSchema;
  const { $ref, items, type, oneOf, anyOf = oneOf, const: word, enum: words = [word] } = shape;
  const { examples = words, properties = {}, required = [] } = shape;
  const of = (part: unknown): unknown => exampleOf(part, components);
  if ($ref !== undefined) return of(components[$ref.slice($ref.lastIndexOf('/') + 1)]);
  if (Array.isArray(examples) && examples[0] !== undefined) return examples[0];
  if (anyOf !== undefined) return of(anyOf[0]);
  if (items !== undefined) return [of(items)];
  if (type === 'object') return Object.fromEntries(required.map((name) => [name, of(properties[name])]));
  return type === 'boolean' ? true : '';
}

export function fileSchema(kind: keyof typeof FILE_SCHEMAS): Json {
  const { schema, definitions: $defs } = jsonSchemaOf(FILE_SCHEMAS[kind]);
  const $schema = 'https://json-schema.org/draft/2020-12/schema';
  return { $schema, ...schema, ...(Object.keys($defs).length > 0 ? { $defs } : {}) };
}

type OpenApiOperation = ReturnType<typeof describeOperation>;

interface OpenApiOptions {
  readonly apiKeyHeader: string;
  readonly version: string;
  readonly rateLimits?: Partial<Record<OperationId, Rate>>;
  /** Accept the API key as a bearer token too. @default false */
  readonly bearer?: boolean;
}

function fieldsBesidePath(request: z.ZodType, components: Components): Json {
  const { batchId: _, ...fields } = (referTo(request, components)['properties'] ?? {}) as Json;
  return fields;
}

function parameters({ method, path, request, idempotencyKey }: Operation, components: Components) {
  const list: Json[] = [];
  const add = (
    name: string,
    where: 'path' | 'query' | 'header',
    required: boolean,
    description: string,
    schema: unknown,
  ) => void list.push({ name, in: where, required, description, schema });
  if (path.includes('{batchId}')) {
    const text = `The batch id, a UUID. Anything else is refused with 400, also beyond ${limits.MAX_PATH_PARAMETER_LENGTH} characters.`;
    add('batchId', 'path', true, text, jsonSchemaOf(uuidSchema).schema);
  }
  if (method === 'GET' && request !== null)
    for (const [name, schema] of Object.entries(fieldsBesidePath(request, components))) {
      const { description = `Only with this \`${name}\`.` } = schema as { readonly description?: string };
      add(name, 'query', false, description, schema);
    }
  if (idempotencyKey !== 'none') {
    const required = idempotencyKey === 'uuid';
    const printable = {
      minLength: 1,
      maxLength: limits.MAX_IDEMPOTENCY_KEY_LENGTH,
      pattern: '^[\\x21-\\x7e]+$',
    };
    const text =
      'Repeating a successful request with the same value returns the stored answer and does nothing.';
    const schema = { type: 'string', ...(required ? { format: 'uuid' } : printable) };
    add(names.IDEMPOTENCY_KEY_HEADER, 'header', required, text, schema);
  }
  const text = 'Returned unchanged if it has at most 128 plain characters.';
  add(names.REQUEST_ID_HEADER, 'header', false, text, { type: 'string', maxLength: 128 });
  return list;
}

function describe({ scopes, rateLimit, idempotencyKey }: Operation, rate: Rate | undefined): string {
  const { points, windowSeconds } = rate ?? rateLimit;
  const needed = `The key needs the scope ${scopes.map((scope) => `\`${scope}\``).join(' or ')}.`;
  const most = `At most ${points} in ${windowSeconds} s per key, unless the key has its own limit.`;
  if (idempotencyKey === 'none') return `${needed} ${most}`;
  return `${needed} ${most} Repeats of a successful request are answered up to ten times as often.`;
}

const contentOf = (schema: unknown, components: Json) => ({
  'application/json': { schema, example: exampleOf(schema, components) },
});

function requestBody(operation: Operation, request: z.ZodType, components: Components) {
  const { MAX_BODY_BYTES, MAX_JSON_VALUES, MAX_JSON_OBJECTS, MAX_OBJECT_KEYS } = limits;
  const mayBeLeftOut = needsNoBody(operation);
  const schema = mayBeLeftOut
    ? { type: 'object', properties: fieldsBesidePath(request, components), additionalProperties: false }
    : referTo(request, components);
  return {
    required: !mayBeLeftOut,
    description: `JSON with at most ${MAX_BODY_BYTES} bytes, ${MAX_JSON_VALUES} values (nested ones included), ${MAX_JSON_OBJECTS} objects, and ${MAX_OBJECT_KEYS} keys per object.`,
    content: contentOf(schema, components),
  } as Json;
}

const TAGS = [
  { name: 'Batches', description: 'Batches of pipelines, approved by the owner.' },
  { name: 'Tokenomics', description: 'Single burns, and reports.' },
] as const;

function describeOperation(operation: Operation, components: Components, options: OpenApiOptions) {
  const { id, method, path, request, deprecated } = operation;
  const { rateLimits, bearer = false } = options;
  return {
    operationId: id,
    summary: operation.summary,
    description: describe(operation, rateLimits?.[id]),
    deprecated,
    tags: [TAGS[path.startsWith('/v1/flywheel/batch') ? 0 : 1].name],
    'x-required-scopes': operation.scopes,
    ...(deprecated ? { 'x-successor': SUCCESSOR.id } : {}),
    security: [{ apiKey: [] }, ...(bearer ? [{ bearer: [] }] : [])],
    parameters: parameters(operation, components),
    ...(request !== null && method !== 'GET' && { requestBody: requestBody(operation, request, components) }),
    responses: responsesOf(operation, components),
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
  const schemas: Components = {};
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
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    paths,
    components: { schemas, securitySchemes: securitySchemes(options) },
  };
}

const HEADERS: Readonly<Record<string, string>> = {
  [names.REQUEST_ID_HEADER]: 'The request id of the client, or a new one. Part of every log line and error.',
  [names.RATE_LIMIT_POLICY_HEADER]:
    'Quota and window in seconds: `"burn";q=10;w=1` (draft-ietf-httpapi-ratelimit-headers).',
  [names.RATE_LIMIT_HEADER]:
    'Remaining requests, and seconds until the full quota is available again: `"burn";r=9;t=1`.',
  [names.RETRY_AFTER_HEADER]: 'Seconds to wait before a retry.',
  [names.IDEMPOTENCY_KEY_UNUSED_HEADER]:
    '`true` when no request with this idempotency key, this one included, did or is doing anything.',
  [names.IDEMPOTENT_REPLAYED_HEADER]: '`true` when this is the stored answer of an earlier request.',
  [names.BATCH_COST_HEADER]: 'Lamports that the batch has cost until now: `operator=…;vault=…`.',
  deprecation: 'Since when, as `@` and Unix seconds (RFC 9745).',
  link: 'The operation that replaces this one, and its documentation.',
};

/** Not every such answer has them. */
const OPTIONAL: readonly string[] = [
  names.IDEMPOTENCY_KEY_UNUSED_HEADER,
  names.IDEMPOTENT_REPLAYED_HEADER,
  names.BATCH_COST_HEADER,
];

/** 409 has Retry-After only for a key in use, so there it is optional. */
const headersOf = (status: number, some: readonly string[]): Json =>
  Object.fromEntries(
    some.map((name) => {
      const isWait = name === names.RETRY_AFTER_HEADER;
      const required = !OPTIONAL.includes(name) && !(isWait && status === 409);
      return [
        name,
        { description: HEADERS[name], required, schema: { type: isWait ? 'integer' : 'string' } },
      ];
    }),
  );

const COMMON = [names.REQUEST_ID_HEADER, names.RATE_LIMIT_POLICY_HEADER, names.RATE_LIMIT_HEADER];

const PROBLEM = { $ref: '#/components/schemas/Problem' };

/** Statuses of requests that are not valid HTTP; the code is ERR_INVALID_REQUEST. */
const TRANSPORT_STATUSES = {
  408: 'The request did not arrive in time.',
  431: 'The header lines are too large.',
};

function problemResponse({ id, idempotencyKey }: Operation, status: number, codes: readonly ErrorCode[]) {
  // Execute has no key header: a batch is its own idempotency key.
  const saysUnused = status === 400 && idempotencyKey !== 'none' && id !== 'executeBatch';
  const headers = [
    ...COMMON,
    ...([409, 429, 503].includes(status) ? [names.RETRY_AFTER_HEADER] : []),
    ...(saysUnused ? [names.IDEMPOTENCY_KEY_UNUSED_HEADER] : []),
  ];
  const schema = {
    allOf: [PROBLEM, { type: 'object', properties: { error: { type: 'string', enum: codes } } }],
  };
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].when}.`).join(' '),
    headers: headersOf(status, headers),
    content: { 'application/json': { schema } },
  };
}

function responsesOf(operation: Operation, components: Components) {
  const { idempotencyKey, deprecated } = operation;
  const responses: Record<string, Json> = {
    200: {
      description:
        operation.id === 'currentBatch' ? 'The current batch, or `null` when there is none.' : 'Done.',
      headers: headersOf(200, [
        ...COMMON,
        ...(idempotencyKey === 'none' ? [] : [names.IDEMPOTENT_REPLAYED_HEADER]),
        ...(deprecated ? ['deprecation', 'link'] : [names.BATCH_COST_HEADER]),
      ]),
      content: contentOf(referTo(operation.response, components), components),
    },
  };
  const codes = [...new Set([...COMMON_ERRORS, ...operation.errors])];
  for (const status of new Set(codes.map((code) => ERRORS[code].status ?? 0))) {
    const own = codes.filter((code) => ERRORS[code].status === status);
    if (own.length > 0) responses[status] = problemResponse(operation, status, own);
  }
  for (const [status, description] of Object.entries(TRANSPORT_STATUSES)) {
    const content = { 'application/json': { schema: PROBLEM } };
    responses[status] = { description, headers: headersOf(400, [names.REQUEST_ID_HEADER]), content };
  }
  return responses as Readonly<Record<string, Json>>;
}
