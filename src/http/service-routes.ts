/** The paths for those who run and read the service: health, readiness, metrics, OpenAPI and its page. */
import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { openApiDocument } from '../contract/openapi.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import { sha256 } from '../values/digest.js';
import type { Secret } from '../values/secret.js';
import { CONTENT_SECURITY_POLICY, docsPage } from './docs/page.js';
import { comesFrom } from './problem.js';
import { namesThisServer } from './request-headers.js';
import type { RequestLife } from './request-life.js';
import { addRoute } from './routes.js';
import type { ServeContext } from './serve-context.js';

const LOOPBACK = /^(?:127\.|::1$|::ffff:127\.)/;

/** Set by proxies; a request that came through one is not from this machine, whatever its address. */
const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'] as const;

const isFromThisMachine = (request: FastifyRequest): boolean =>
  LOOPBACK.test(request.socket.remoteAddress ?? '') &&
  FORWARDING_HEADERS.every((name) => request.headers[name] === undefined);

/** Equal digests of equal length, so that the time taken tells nothing of the token. */
const isToken = (token: Secret, authorization: string | undefined): boolean =>
  timingSafeEqual(Buffer.from(sha256(`Bearer ${token.reveal()}`)), Buffer.from(sha256(authorization ?? '')));

function checkMetricsReader(request: FastifyRequest, { settings, listeningOn }: ServeContext): void {
  const token = settings.metricsToken;
  const allowed =
    token === undefined
      ? isFromThisMachine(request) && namesThisServer(request.headers.host, listeningOn())
      : isToken(token, request.headers.authorization);
  if (allowed) return;
  throw new FlywheelError(
    'ERR_UNAUTHORIZED',
    token === undefined
      ? 'Metrics are read from this machine only.'
      : 'The metrics token is missing or wrong.',
  );
}

function send(life: RequestLife, reply: FastifyReply, answer: string | object): void {
  if (life.mayAnswer()) void reply.send(answer);
}

/** Which check has failed; what more there is to it, the log tells. */
function notReady(cause: unknown): FlywheelError {
  if (isFlywheelError(cause, 'ERR_STORE_BEHIND')) return cause;
  const what = comesFrom(cause, 'ERR_STORE_UNAVAILABLE')
    ? 'The store does not answer or is full.'
    : 'The chain does not answer.';
  return new FlywheelError('ERR_UNAVAILABLE', what, { cause });
}

function addHealth(app: FastifyInstance, { deps, settings }: ServeContext): void {
  addRoute(app, {
    method: 'GET',
    path: `${settings.basePath}/healthz`,
    handle: async (_request, reply, life) => send(life, reply, { status: 'ok' }),
  });
  addRoute(app, {
    method: 'GET',
    path: `${settings.basePath}/readyz`,
    handle: async (_request, reply, life) => {
      try {
        await deps.health.ready();
      } catch (cause) {
        throw notReady(cause);
      }
      send(life, reply, { status: 'ready' });
    },
  });
}

function addDocuments(app: FastifyInstance, { settings }: ServeContext): void {
  const document = openApiDocument({
    apiKeyHeader: settings.apiKeyHeader,
    serverUrl: settings.basePath === '' ? '/' : settings.basePath,
    version: settings.version,
    rateLimits: settings.rateLimits,
    bearer: settings.bearer,
    maxBodyBytes: settings.limits.maxBodyBytes,
  });
  const json = JSON.stringify(document, null, 2);
  let page: string | undefined;
  addRoute(app, {
    method: 'GET',
    path: `${settings.basePath}/`,
    handle: async (_request, reply, life) => {
      reply.code(302).header('location', `${settings.basePath}/docs`);
      send(life, reply.type('text/plain; charset=utf-8'), `${settings.basePath}/docs\n`);
    },
  });
  addRoute(app, {
    method: 'GET',
    path: `${settings.basePath}/openapi.json`,
    handle: async (_request, reply, life) => send(life, reply.type('application/json; charset=utf-8'), json),
  });
  addRoute(app, {
    method: 'GET',
    path: `${settings.basePath}/docs`,
    handle: async (_request, reply, life) => {
      page ??= docsPage(document);
      reply.header('content-security-policy', CONTENT_SECURITY_POLICY);
      send(life, reply.type('text/html; charset=utf-8'), page);
    },
  });
}

/** Adds everything that is not an operation. */
export function addServiceRoutes(app: FastifyInstance, context: ServeContext): void {
  const { settings, metrics } = context;
  addHealth(app, context);
  addDocuments(app, context);
  addRoute(app, {
    method: 'GET',
    path: `${settings.basePath}/metrics`,
    handle: async (request, reply, life) => {
      checkMetricsReader(request, context);
      const text = await metrics.text();
      send(life, reply.type(metrics.contentType), text);
    },
  });
}
