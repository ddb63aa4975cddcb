/** The HTTP server over any `Service`: framework, bookkeeping and errors; what an operation does is decided elsewhere. */
import { type IncomingMessage, METHODS, type ServerResponse } from 'node:http';
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { REQUEST_ID_HEADER } from '../contract/headers.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { answerProblem } from './answer-problem.js';
import { BodyBudget } from './body-budget.js';
import { Connections } from './connections.js';
import { Cors } from './cors.js';
import { Listener } from './listener.js';
import { logEnd, loggerOptions } from './log.js';
import { createMetrics, type Metrics } from './metrics.js';
import { type HttpServerDeps, type HttpServerOptions, type HttpSettings, httpSettings } from './options.js';
import { checkRequestHeaders } from './request-headers.js';
import { RequestLife, RequestLives } from './request-life.js';
import { addOperations } from './routes.js';
import type { ServeContext } from './serve-context.js';
import { addServiceRoutes } from './service-routes.js';
import { Shutdown } from './shutdown.js';
import { Slices } from './slices.js';

export interface HttpServer {
  /** Answers a request that has come over no connection of its own. */
  answer(request: IncomingMessage, response: ServerResponse): void;
  /** @returns the base address, with the port that was given when 0 was asked for. */
  listen(address: { readonly host: string; readonly port: number }): Promise<string>;
  /**
   * Stops accepting and answers what was received; what is late after `graceMs` is answered 503. Calling it again replaces
   * the grace.
   * @returns whether all was answered within the grace.
   */
  closeGracefully(graceMs: number): Promise<boolean>;
}

function createApp(deps: HttpServerDeps, settings: HttpSettings): FastifyInstance {
  const answer = (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const life = RequestLife.of(request.raw);
    if (life.mayAnswer()) answerProblem(thrown, life, request, reply);
  };
  const app: FastifyInstance = fastify({
    logger: loggerOptions(deps.log),
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: (request) => RequestLife.of(request).requestId,
    exposeHeadRoutes: false,
    // Ids are judged where their operation can answer for them.
    routerOptions: { maxParamLength: settings.limits.maxHeaderBytes },
    frameworkErrors: (error: FastifyError, request, reply) => answer(error, request, reply),
  });
  for (const method of METHODS) {
    // CONNECT never reaches a request handler.
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  }
  // Each line names its request itself; a logger for each request would cost more than all its lines.
  app.setChildLoggerFactory((logger) => logger);
  app.setErrorHandler(answer);
  return app;
}

function createLives(app: FastifyInstance, { limits }: HttpSettings, metrics: Metrics): RequestLives {
  return new RequestLives(limits.maxRunning, {
    running: (delta) => metrics.running(delta),
    ended(life) {
      metrics.ended({
        operation: life.operation ?? 'none',
        status: life.response.statusCode,
        seconds: life.elapsedMs / 1_000,
        isAnswered: life.isAnswered,
      });
      logEnd(app.log, life);
    },
  });
}

/** What holds for every request, whatever its path: headers of its answer, refusals, the end of its connection. */
function addCommonHooks(app: FastifyInstance, context: ServeContext, connections: Connections): void {
  const { settings, shutdown } = context;
  const cors = new Cors(settings);
  app.addHook('onRequest', (request, reply, done) => {
    const life = RequestLife.of(request.raw);
    if (!request.is404) life.route = request.routeOptions.url ?? null;
    reply.headers({
      [REQUEST_ID_HEADER]: life.requestId,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    cors.describe(request, reply);
    try {
      shutdown.refuseWhenClosing();
      checkRequestHeaders(request.raw, () => reply.header('connection', 'close'));
      if (request.is404) throw new FlywheelError('ERR_NOT_FOUND', 'There is nothing at this path.');
      if (cors.isPreflight(request)) cors.answerPreflight(reply);
      else done();
    } catch (error) {
      done(error as Error);
    }
  });
  app.addHook('onSend', (request, reply, _payload, done) =>
    shutdown.letGo(() => {
      const isLast = connections.endsWith(RequestLife.of(request.raw), shutdown.isClosing);
      if (isLast) reply.header('connection', 'close');
      done();
    }),
  );
}

/**
 * A server that is not listening yet.
 * @throws `ERR_CONFIG_INVALID` for a header name, base path or origin that HTTP does not know.
 */
export async function createHttpServer(
  deps: HttpServerDeps,
  options: HttpServerOptions = {},
): Promise<HttpServer> {
  const settings = httpSettings(options);
  const { limits } = settings;
  const budget = new BodyBudget(limits.maxHeldBytes);
  const source = { connections: () => connections.size, heldBytes: () => budget.usedBytes };
  const metrics = await createMetrics({ ...deps.metrics, ...source }, settings.version);
  const app = createApp(deps, settings);
  const lives = createLives(app, settings, metrics);
  const connections = new Connections(limits, lives);
  const onNotHttp = (requestId: string, error: string): void =>
    app.log.info({ requestId, error }, 'not HTTP');
  const listener = new Listener({ connections, limits, onNotHttp });
  const shutdown = new Shutdown();
  const bodies = {
    maxBytes: limits.maxBodyBytes,
    maxJsonValues: limits.maxJsonValues,
    budget,
    slices: new Slices(),
  };
  const context = { deps, settings, metrics, lives, bodies, shutdown, listeningOn: () => listener.host };
  addCommonHooks(app, context, connections);
  addOperations(app, context);
  addServiceRoutes(app, context);
  await app.ready();
  return {
    answer(request, response) {
      const life = lives.begin(request, response);
      response.once('close', () => life.close());
      app.routing(request, response);
    },
    async listen(address) {
      const port = await listener.listen((request, response) => app.routing(request, response), address);
      const host = address.host.includes(':') ? `[${address.host}]` : address.host;
      return `http://${host}:${port}${settings.basePath}`;
    },
    async closeGracefully(graceMs) {
      const { drainIdleMs } = limits;
      app.log.info({ graceMs }, 'stopping');
      const inTime = await shutdown.close({ listener, connections, lives, drainIdleMs }, graceMs);
      await app.close();
      return inTime;
    },
  };
}
