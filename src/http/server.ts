/** The HTTP server over any `Service`: framework, limits, errors and shutdown; what an operation does is decided elsewhere. */
import { setMaxListeners } from 'node:events';
import { METHODS } from 'node:http';
import type { AddressInfo } from 'node:net';
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { REQUEST_ID_HEADER } from '../contract/headers.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { answerBrokenConnection, answerExpectation } from './broken-connection.js';
import { logAnswer, loggerOptions } from './log.js';
import { createMetrics, type Metrics } from './metrics.js';
import { type HttpServerDeps, type HttpServerOptions, type HttpSettings, httpSettings } from './options.js';
import { isOwnFault, servedError, toProblem } from './problem.js';
import { REQUEST_FIELDS } from './request-fields.js';
import { requestIdFrom } from './request-id.js';
import { addOperations } from './routes.js';
import { addServiceRoutes } from './service-routes.js';

export interface HttpServer {
  readonly app: FastifyInstance;
  /** @returns the base address, with the port that was given when 0 was asked for. */
  listen(address: { readonly host: string; readonly port: number }): Promise<string>;
  /**
   * Stops accepting, lets running requests finish, and cuts what is left after `timeoutMs`. Calling it again with 0 cuts at once.
   * @returns whether all running requests finished.
   */
  closeGracefully(timeoutMs: number): Promise<boolean>;
}

/** How often node looks for requests that take too long to arrive. */
const TIMEOUT_CHECK_INTERVAL_MS = 1_000;
/** Longer than any id; a longer one is not found. */
const MAX_PARAM_LENGTH = 200;

function answerProblem(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = servedError(thrown, request.operation);
  const problem = toProblem(error, request.id);
  request.problemCode = error.wireCode;
  if (isOwnFault(error)) request.log.error({ requestId: request.id, err: error }, 'failed');
  void reply
    .code(problem.status)
    .headers({ ...problem.headers, [REQUEST_ID_HEADER]: request.id, 'cache-control': 'no-store' })
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(problem.body));
}

function createApp(deps: HttpServerDeps, settings: HttpSettings): FastifyInstance {
  const { limits } = settings;
  const app: FastifyInstance = fastify({
    logger: loggerOptions(deps.log),
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: (request) => requestIdFrom(request.headers[REQUEST_ID_HEADER]),
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    connectionTimeout: limits.idleTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    http: {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs),
      connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
    },
    clientErrorHandler: (error, socket) => {
      const requestId = answerBrokenConnection(error, socket);
      app.log.info({ requestId, error: error.code ?? 'unknown' }, 'not HTTP');
    },
    frameworkErrors: (error: FastifyError, request, reply) => answerProblem(error, request, reply),
  });
  app.server.maxConnections = limits.maxConnections;
  app.server.on('checkExpectation', (request, response) => answerExpectation(request, response));
  for (const method of METHODS) {
    // CONNECT never reaches a request handler.
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  }
  // Each line names its request itself; a logger for each request would cost more than all its lines.
  app.setChildLoggerFactory((logger) => logger);
  for (const field of REQUEST_FIELDS) app.decorateRequest(field, undefined);
  app.setErrorHandler(answerProblem);
  return app;
}

/** Refuses while shutting down and under overload, counts, and logs one line an answer. */
function addBookkeeping(
  app: FastifyInstance,
  gate: { readonly maxRunning: number; readonly metrics: Metrics; isClosing(): boolean },
): void {
  let running = 0;
  const admit = (request: FastifyRequest, reply: FastifyReply): FlywheelError | undefined => {
    reply.headers({
      [REQUEST_ID_HEADER]: request.id,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    if (gate.isClosing()) return new FlywheelError('ERR_UNAVAILABLE', 'The service is shutting down.');
    if (request.is404) return new FlywheelError('ERR_NOT_FOUND', 'There is nothing at this path.');
    if (running >= gate.maxRunning) {
      return new FlywheelError('ERR_UNAVAILABLE', 'Too many requests are running.');
    }
    running += 1;
    request.counted = true;
    gate.metrics.running(1);
    return undefined;
  };
  app.addHook('onRequest', (request, reply, done) => done(admit(request, reply)));
  const release = (request: FastifyRequest): void => {
    if (request.counted !== true) return;
    request.counted = false;
    running -= 1;
    gate.metrics.running(-1);
  };
  app.addHook('onSend', (_request, reply, _payload, done) => {
    // What was running when the shutdown began ends its connection too.
    if (gate.isClosing()) reply.header('connection', 'close');
    done();
  });
  app.addHook('onRequestAbort', (request, done) => {
    release(request);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    release(request);
    gate.metrics.finished({
      operation: request.operation ?? 'none',
      status: reply.statusCode,
      seconds: reply.elapsedTime / 1_000,
    });
    logAnswer(request, reply);
    done();
  });
}

/** Closes the listener, then waits for what runs; what is late is cut. */
function createCloser(app: FastifyInstance, abort: AbortController): HttpServer['closeGracefully'] {
  let closed: Promise<void> | undefined;
  let cut = false;
  return async (timeoutMs) => {
    const timer = setTimeout(() => {
      cut = true;
      abort.abort(new FlywheelError('ERR_UNAVAILABLE', 'The service is shutting down.'));
      app.server.closeAllConnections();
    }, timeoutMs);
    closed ??= Promise.resolve(app.close());
    await closed;
    clearTimeout(timer);
    return !cut;
  };
}

/**
 * A server that is not listening yet.
 * @throws `ERR_CONFIG_INVALID` for a header name or base path that HTTP does not know.
 */
export async function createHttpServer(
  deps: HttpServerDeps,
  options: HttpServerOptions = {},
): Promise<HttpServer> {
  const settings = httpSettings(options);
  const metrics = await createMetrics(deps.metrics ?? {});
  const app = createApp(deps, settings);
  const abort = new AbortController();
  setMaxListeners(0, abort.signal);
  let closing = false;
  addBookkeeping(app, { maxRunning: settings.limits.maxRunning, metrics, isClosing: () => closing });
  const context = { deps, settings, metrics, signal: abort.signal };
  addOperations(app, context);
  addServiceRoutes(app, context);
  const close = createCloser(app, abort);
  return {
    app,
    async listen(address) {
      await app.listen(address);
      const { port } = app.server.address() as AddressInfo;
      const host = address.host.includes(':') ? `[${address.host}]` : address.host;
      return `http://${host}:${port}${settings.basePath}`;
    },
    closeGracefully(timeoutMs) {
      closing = true;
      return close(timeoutMs);
    },
  };
}
