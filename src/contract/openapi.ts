/** OpenAPI 3.1 of the service, made from the operations; nothing in it is written twice. */
import type * as z from 'zod';
import { uuidSchema } from '../values/schemas.js';
import { EXAMPLES } from './examples.js';
import { IDEMPOTENCY_KEY_HEADER, REQUEST_ID_HEADER } from './headers.js';
import {
  MAX_BODY_BYTES,
  MAX_IDEMPOTENCY_KEY_LENGTH,
  MAX_JSON_OBJECTS,
  MAX_JSON_VALUES,
  MAX_OBJECT_KEYS,
  MAX_PATH_PARAMETER_LENGTH,
} from './limits.js';
import { problemResponses, successResponse } from './openapi-responses.js';
import { type Json, jsonSchemaOf, referTo } from './openapi-schemas.js';
import {
  needsNoBody,
  OPERATION_LIST,
  type Operation,
  type OperationId,
  type Rate,
  SUCCESSOR,
} from './operations.js';
import { problemSchema } from './schemas/problem.js';

export interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly deprecated: boolean;
  readonly tags: readonly string[];
  /** The key needs one of these. */
  readonly 'x-required-scopes': readonly string[];
  /** `operationId` of what replaces it. */
  readonly 'x-successor'?: string;
  /** Ways to give the key, each of which is taken. */
  readonly security: readonly Json[];
  readonly parameters: readonly Json[];
  readonly requestBody?: Json;
  readonly responses: Readonly<Record<string, Json>>;
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: Json & { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly Json[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: Json;
}

interface OpenApiOptions {
  readonly apiKeyHeader: string;
  /** Base address; may be a path alone. */
  readonly serverUrl: string;
  readonly version: string;
  /** In place of the contract's, by operation. */
  readonly rateLimits?: Partial<Record<OperationId, Rate>>;
  /** Is the API key taken as a bearer token as well? @default false */
  readonly bearer?: boolean;
  /** @default 4 MiB */
  readonly maxBodyBytes?: number;
}

/** Fields of an operation's input that its path does not carry. */
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

/** The body of a POST, without what its path carries. */
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
    list.push({
      name: IDEMPOTENCY_KEY_HEADER,
      in: 'header',
      required: operation.idempotencyKey === 'uuid',
      description:
        'Repeating a successful request with the same value returns the stored answer and does nothing.',
      schema:
        operation.idempotencyKey === 'uuid'
          ? { type: 'string', format: 'uuid' }
          : {
              type: 'string',
              minLength: 1,
              maxLength: MAX_IDEMPOTENCY_KEY_LENGTH,
              pattern: '^[\\x21-\\x7e]+$',
            },
    });
  }
  list.push({
    name: REQUEST_ID_HEADER,
    in: 'header',
    required: false,
    description: 'Returned unchanged if it has at most 128 plain characters.',
    schema: { type: 'string', maxLength: 128 },
  });
  return list;
}

const list = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(' or ');

/** Who may call it and how often. */
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

function requestBody(operation: Operation, schema: unknown, maxBodyBytes: number): Json {
  return {
    required: !needsNoBody(operation),
    description: `JSON with at most ${maxBodyBytes} bytes, ${MAX_JSON_VALUES} values (nested ones included), ${MAX_JSON_OBJECTS} objects, and ${MAX_OBJECT_KEYS} keys per object.`,
    content: { 'application/json': { schema, example: EXAMPLES[operation.id].request } },
  };
}

const TAGS = [
  { name: 'Batches', description: 'Batches of pipelines, approved by the owner.' },
  { name: 'Tokenomics', description: 'Single burns, and reports.' },
] as const;

const tagOf = ({ path }: Operation): string => TAGS[path.startsWith('/v1/flywheel/') ? 0 : 1].name;

function describeOperation(
  operation: Operation,
  components: Record<string, unknown>,
  { rateLimits, bearer = false, maxBodyBytes = MAX_BODY_BYTES }: OpenApiOptions,
): OpenApiOperation {
  const { id, request } = operation;
  const body =
    request === null || operation.method === 'GET'
      ? {}
      : {
          requestBody: requestBody(operation, bodySchema(operation, request, components), maxBodyBytes),
        };
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
    ...body,
    responses: {
      200: successResponse(operation, referTo(operation.response, components)),
      ...problemResponses(operation),
    },
  };
}

/**
 * How a key is given. The formal schema of the API declares a bearer scheme at its top level, and the key's header at each
 * operation (service specification, section 5).
 */
const securitySchemes = ({ apiKeyHeader, bearer = false }: OpenApiOptions) => ({
  apiKey: { type: 'apiKey', in: 'header', name: apiKeyHeader },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: bearer ? 'The API key as a bearer token.' : 'This server refuses it.',
  },
});

/** The whole document; equal options give an equal document. */
export function openApiDocument(options: OpenApiOptions): OpenApiDocument {
  const schemas: Record<string, unknown> = {};
  referTo(problemSchema, schemas);
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const operation of OPERATION_LIST) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describeOperation(operation, schemas, options),
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Flywheel',
      version: options.version,
      description: 'Burn and airdrop tokens on proof of what users did. Amounts are whole tokens.',
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
