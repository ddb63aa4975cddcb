/**
 * One request of one operation, from its headers to its answer.
 *
 * The order is the promise: who calls, then the rate limit, then the scope, then the media type and the body, then the
 * service. Nothing later is looked at before the earlier has passed.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Call, Reply } from '../contract/call.js';
import { checkIdempotencyKey, IDEMPOTENCY_KEY_HEADER } from '../contract/headers.js';
import type { Operation, OperationId, RateLimit } from '../contract/operations.js';
import type {
  BatchPipelinesQuery,
  CancelBatchRequest,
  ExecuteBatchRequest,
  InitBatchRequest,
  IssueApprovalRequest,
  ListBatchesQuery,
} from '../contract/schemas/batch.js';
import type { BurnBatchRequest, BurnRequest } from '../contract/schemas/burn.js';
import type { Service } from '../contract/service.js';
import { invalidRequest } from '../contract/validate.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { isJsonObject } from '../values/canonical-json.js';
import { Secret } from '../values/secret.js';
import { collectBody } from './collect-body.js';
import { metaHeaders, operationHeaders, rateLimitHeaders } from './headers.js';
import type { Metrics } from './metrics.js';
import type { HttpServerDeps, HttpSettings, Principal } from './options.js';
import type { RateDecision } from './rate-limiter.js';
import { checkMediaType, readJsonBody } from './read-body.js';

export interface ServeContext {
  readonly deps: HttpServerDeps;
  readonly settings: HttpSettings;
  readonly metrics: Metrics;
  /** Aborted when a shutdown has run out of time. */
  readonly signal: AbortSignal;
}

const JSON_CONTENT = 'application/json; charset=utf-8';

type Invoke = (service: Service, input: unknown, call: Call) => Promise<Reply<unknown>>;

/** The service checks its input itself, so that what was read is handed on as it is. */
const INVOKE: Readonly<Record<OperationId, Invoke>> = {
  burn: (service, input, call) => service.burn(input as BurnRequest, call),
  burnBatch: (service, input, call) => service.burnBatch(input as BurnBatchRequest, call),
  getBatch: (service, input, call) => service.getBatch(input as { batchId: string }, call),
  currentBatch: (service, _input, call) => service.currentBatch(call),
  initBatch: (service, input, call) => service.initBatch(input as InitBatchRequest, call),
  executeBatch: (service, input, call) => service.executeBatch(input as ExecuteBatchRequest, call),
  listBatches: (service, input, call) => service.listBatches(input as ListBatchesQuery, call),
  batchPipelines: (service, input, call) => service.batchPipelines(input as BatchPipelinesQuery, call),
  issueApproval: (service, input, call) => service.issueApproval(input as IssueApprovalRequest, call),
  cancelBatch: (service, input, call) => service.cancelBatch(input as CancelBatchRequest, call),
};

function readCredential(request: FastifyRequest, headerName: string): Secret | null {
  const value = request.headers[headerName];
  return typeof value === 'string' && value !== '' ? new Secret(value) : null;
}

function refuseOverLimit(limit: RateLimit, decision: RateDecision): void {
  if (decision.allowed) return;
  throw new FlywheelError(
    'ERR_RATE_LIMIT_EXCEEDED',
    `Over the limit of ${limit.points} in ${limit.windowSeconds} s; try again in ${decision.resetSeconds} s.`,
    { retryAfterSeconds: decision.resetSeconds },
  );
}

function checkScope(operation: Operation, principal: Principal): void {
  const { scopes } = principal;
  if (scopes === undefined || operation.scopes.some((scope) => scopes.includes(scope))) return;
  throw new FlywheelError(
    'ERR_KEY_SCOPES_UNAUTHORIZED',
    `The API key needs the scope ${operation.scopes.map((scope) => `\`${scope}\``).join(' or ')}.`,
  );
}

async function readInput(
  operation: Operation,
  request: FastifyRequest,
  maxBodyBytes: number,
): Promise<unknown> {
  const inPath = request.params as Record<string, string>;
  if (operation.method === 'GET') return { ...queryInput(request), ...inPath };
  checkMediaType(request.headers);
  const body = readJsonBody(operation.id, await collectBody(request.raw, maxBodyBytes));
  if (!operation.path.includes('{')) return body;
  if (!isJsonObject(body)) throw invalidRequest(['expected an object']);
  const taken = Object.keys(inPath).find((name) => Object.hasOwn(body, name));
  if (taken !== undefined) throw invalidRequest([`${taken}: it is in the path`]);
  return { ...body, ...inPath };
}

/** Query parameters; what is text in a URL and a number in the contract becomes one. */
function queryInput(request: FastifyRequest): Record<string, unknown> {
  const query = request.query as Record<string, unknown>;
  const { limit } = query;
  return typeof limit === 'string' && /^\d{1,9}$/.test(limit) ? { ...query, limit: Number(limit) } : query;
}

function readIdempotencyKey(operation: Operation, request: FastifyRequest): string | undefined {
  const value = request.headers[IDEMPOTENCY_KEY_HEADER];
  return checkIdempotencyKey(typeof value === 'string' ? value : undefined, operation.idempotencyKey);
}

/** Serves requests of one operation; throws what the problem handler answers. */
export function createOperationHandler(
  context: ServeContext,
  operation: Operation,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const { deps, settings, metrics } = context;
  const limit = settings.rateLimits[operation.id] ?? operation.rateLimit;
  const fixedHeaders = operationHeaders(operation, settings.basePath);
  const unusedLimit = rateLimitHeaders(limit);
  const authenticate = async (credential: Secret | null, reply: FastifyReply): Promise<Principal> => {
    try {
      return await deps.authenticate(credential);
    } catch (error) {
      reply.headers(unusedLimit);
      throw error;
    }
  };

  return async (request, reply) => {
    request.operation = operation.id;
    reply.headers(fixedHeaders);
    const credential = readCredential(request, settings.apiKeyHeader);
    const principal = await authenticate(credential, reply);
    request.keyId = principal.keyId;
    const decision = await deps.rateLimiter.consume(principal.keyId, limit);
    reply.headers(rateLimitHeaders(limit, decision));
    if (!decision.allowed) metrics.rateLimited(operation.id);
    refuseOverLimit(limit, decision);
    checkScope(operation, principal);
    const idempotencyKey = readIdempotencyKey(operation, request);
    const input = await readInput(operation, request, settings.limits.maxBodyBytes);
    const answer = await INVOKE[operation.id](deps.service, input, {
      credential,
      requestId: request.id,
      signal: context.signal,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
    metrics.answered(operation.id, answer);
    request.replayed = answer.meta.replayed;
    reply.headers(metaHeaders(answer.meta));
    return reply.header('content-type', JSON_CONTENT).send(JSON.stringify(answer.value));
  };
}
