/**
 * Routes: the operations of the contract, and paths for operators (health, metrics, documentation). The order of an operation's
 * checks is guaranteed: authentication, rate limit, scope, media type, body, service. A later check runs only after all earlier
 * ones passed.
 */
import { timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import type { Call } from '../contract/call.js';
import { MAX_PATH_PARAMETER_LENGTH } from '../contract/limits.js';
import { openApiDocument } from '../contract/openapi.js';
import { needsNoBody, OPERATION_LIST, type Operation } from '../contract/operations.js';
import { invalidRequest } from '../contract/validate.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import { isJsonObject } from '../values/canonical-json.js';
import { sha256 } from '../values/digest.js';
import { jsonText } from '../values/exact-number.js';
import type { Secret } from '../values/secret.js';
import { checkMediaType, hasBody, parseBody } from './body.js';
import {
  givenIdempotencyKey,
  metaHeaders,
  operationHeaders,
  readCredential,
  readIdempotencyKey,
} from './headers.js';
import { outcomeOf } from './log.js';
import type { HttpServerDeps, HttpSettings } from './options.js';
import { comesFrom } from './problem.js';
import { admit, rateLimitHeaders, withRate } from './rate-limit.js';
import type { Requests } from './requests.js';
import type { Shutdown } from './shutdown.js';

interface ServeContext {
  readonly deps: HttpServerDeps;
  readonly settings: HttpSettings;
  readonly requests: Requests;
  readonly shutdown: Shutdown;
  /** Reads the body of a request. @throws `ERR_PAYLOAD_TOO_LARGE`, `ERR_INVALID_REQUEST` */
  readonly readBody: (request: FastifyRequest) => Promise<Buffer>;
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

function addRoute(app: FastifyInstance, method: 'GET' | 'POST', url: string, handler: Handler): void {
  // Answers in the first hook: before a handler, Fastify judges the media type, and so before authentication.
  const route = (methods: string | string[], answer: Handler) =>
    app.route({
      method: methods as HTTPMethods[],
      url,
      onRequest: async (request, reply) => reply.send(await answer(request, reply)),
      handler: async () => undefined,
    });
  route(method, handler);
  const others = app.supportedMethods.filter((other) => other !== method);
  route(others, async (request, reply) => {
    reply.header('allow', method);
    const message = `${request.method} is not allowed here; use ${method}.`;
    throw new FlywheelError('ERR_METHOD_NOT_ALLOWED', message);
  });
}

function checkPath(request: FastifyRequest): void {
  const ids = Object.values(request.params as Readonly<Record<string, string>>);
  if (ids.every((id) => id.length <= MAX_PATH_PARAMETER_LENGTH)) return;
  const message = `An id in the path has at most ${MAX_PATH_PARAMETER_LENGTH} characters.`;
  throw new FlywheelError('ERR_INVALID_REQUEST', message);
}

async function inputOf(
  operation: Operation,
  request: FastifyRequest,
  { readBody }: ServeContext,
): Promise<unknown> {
  const inPath = request.params as Readonly<Record<string, string>>;
  if (operation.method === 'GET') {
    const query = request.query as Readonly<Record<string, unknown>>;
    const { limit } = query;
    const isNumber = typeof limit === 'string' && /^\d{1,9}$/.test(limit);
    return { ...query, ...(isNumber ? { limit: Number(limit) } : {}), ...inPath };
  }
  if (operation.method !== 'POST' || (!hasBody(request.headers) && needsNoBody(operation))) return inPath;
  checkMediaType(request.headers);
  const body = parseBody(await readBody(request));
  if (!needsNoBody(operation)) return body;
  if (!isJsonObject(body)) throw invalidRequest(['expected an object']);
  const taken = Object.keys(inPath).find((name) => Object.hasOwn(body, name));
  if (taken !== undefined) throw invalidRequest([`${taken}: it is in the path`]);
  return { ...body, ...inPath };
}

function addOperation(app: FastifyInstance, context: ServeContext, operation: Operation): void {
  const { deps, settings, requests, shutdown } = context;
  const usual = withRate(operation.rateLimit, settings.rates[operation.id]);
  // Error answers before authentication also carry these headers; the remaining points are unknown then.
  const fixedHeaders = { ...operationHeaders(operation), ...rateLimitHeaders(usual) };
  const handler: Handler = async (request, reply) => {
    const notes = requests.of(request.raw);
    notes.operation = operation.id;
    reply.headers(fixedHeaders);
    requests.refuseWhenFull();
    const credential = readCredential(request.raw, settings);
    const asked = { credential, ...givenIdempotencyKey(request.raw) };
    const caller = await deps.engine.authenticate(operation.id, asked);
    const { keyId, project } = caller;
    Object.assign(notes, { keyId, project });
    const limit = withRate(usual, settings.keyRates[keyId]?.[operation.id]);
    const refusal = await admit(deps.rateCounts, operation, limit, keyId, reply);
    caller.requireScope();
    const idempotencyKey = readIdempotencyKey(operation, request.raw);
    checkPath(request);
    const input = await inputOf(operation, request, context);
    const call: Call = {
      ...{ credential, requestId: notes.requestId, signal: shutdown.signal },
      onOperation: (operationId) => void Object.assign(notes, { operationId }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      ...(refusal === undefined ? {} : { repeatOnly: true }),
    };
    const answering = requests.run(notes, async () => {
      const answer = await caller.perform(input, call).catch((error: unknown) => {
        throw refusal !== undefined && isFlywheelError(error, 'ERR_RATE_LIMIT_EXCEEDED') ? refusal : error;
      });
      deps.metrics.answered(operation.id, answer);
      notes.replayed = answer.meta.replayed;
      if (operation.method === 'POST') notes.outcome = outcomeOf(answer.value);
      return answer;
    });
    const { value, meta } = await shutdown.orRefusal(answering);
    reply.headers(metaHeaders(meta)).type('application/json; charset=utf-8');
    return jsonText(value);
  };
  addRoute(app, operation.method, operation.path.replaceAll(/\{(\w+)\}/g, ':$1'), handler);
}

const LOOPBACK = /^(?:127\.|::1$|::ffff:127\.)/;
/** The Host header is checked against DNS rebinding: a web page could point its own name at 127.0.0.1. */
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
/** Set by proxies: a proxied request is not local, even if it comes from a loopback address. */
const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'] as const;

/** Constant-time comparison of digests, so that timing reveals nothing about the token. */
const isToken = (token: Secret, authorization = ''): boolean =>
  timingSafeEqual(Buffer.from(sha256(`Bearer ${token.reveal()}`)), Buffer.from(sha256(authorization)));

function checkMetricsReader({ headers, socket }: FastifyRequest, token: Secret | null): void {
  const isLocal = LOOPBACK.test(socket.remoteAddress ?? '') && LOOPBACK_HOST.test(headers.host ?? '');
  const isDirect = FORWARDING_HEADERS.every((name) => headers[name] === undefined);
  if (token === null ? isLocal && isDirect : isToken(token, headers.authorization)) return;
  const message =
    token === null
      ? 'Metrics are available from this machine only.'
      : 'The metrics token is missing or wrong.';
  throw new FlywheelError('ERR_UNAUTHORIZED', message);
}

function notReady(cause: unknown): FlywheelError {
  if (isFlywheelError(cause, 'ERR_STORE_BEHIND')) return cause;
  const what = comesFrom(cause, 'ERR_STORE_UNAVAILABLE')
    ? 'The store does not answer, or its disk is full.'
    : 'The chain does not answer.';
  return new FlywheelError('ERR_UNAVAILABLE', what, { cause });
}

export function addRoutes(app: FastifyInstance, context: ServeContext): void {
  const { deps, settings, requests } = context;
  const { apiKeyHeader, bearer, metricsToken, rates, version } = settings;
  for (const operation of OPERATION_LIST) addOperation(app, context, operation);
  const get = (path: string, handler: Handler): void => addRoute(app, 'GET', path, handler);
  const terms = { apiKeyHeader, version, rateLimits: rates, bearer };
  let description: string | undefined;
  get('/healthz', async () => ({ status: 'ok' }));
  get('/readyz', async () => {
    await deps.engine.ready().catch((cause: unknown) => {
      throw notReady(cause);
    });
    return { status: 'ready' };
  });
  get('/metrics', async (request, reply) => {
    checkMetricsReader(request, metricsToken);
    reply.type(deps.metrics.contentType);
    const connections = await promisify<number>((done) => app.server.getConnections(done))();
    return deps.metrics.text(deps.engine, { running: requests.running, connections });
  });
  get('/openapi.json', async (_request, reply) => {
    reply.type('application/json; charset=utf-8');
    description ??= JSON.stringify(openApiDocument(terms), null, 2);
    return description;
  });
}
