/** The HTTP server over any `Service`: its limits, its hooks and its errors. What is answered is up to the routes. */
import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type IncomingMessage, METHODS, type ServerResponse, STATUS_CODES } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import cors from '@fastify/cors';
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { REQUEST_ID_HEADER } from '../contract/headers.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { hasBody, readBytes } from './body.js';
import { checkRequestHeaders, corsOptions, MAX_HEADER_LINES } from './headers.js';
import { logEnd, loggerOptions } from './log.js';
import { createMetrics } from './metrics.js';
import { type HttpServerDeps, type HttpServerOptions, type HttpSettings, httpSettings } from './options.js';
import { brokenRequest, isOwnFault, servedError, toProblem } from './problem.js';
import { Requests } from './requests.js';
import { addRoutes, type ServeContext } from './routes.js';
import { Shutdown, within } from './shutdown.js';

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

/** How often node looks for requests that take too long to arrive. */
const TIMEOUT_CHECK_INTERVAL_MS = 1_000;
/** For how long the rest of a body is read before the answer that ends its connection: a reset would take that along. */
const LINGER_MS = 1_000;

type Fail = (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => void;

/** The framework, with its own limits. */
function createApp(
  deps: HttpServerDeps,
  { limits }: HttpSettings,
  handlers: { fail: Fail; onBroken(error: NodeJS.ErrnoException, socket: Socket): void },
): FastifyInstance {
  const app: FastifyInstance = fastify({
    logger: loggerOptions(deps.log),
    logController: new LogController({ disableRequestLogging: true }),
    exposeHeadRoutes: false,
    return503OnClosing: false,
    // Ids are judged where their operation can answer for them.
    routerOptions: { maxParamLength: limits.maxHeaderBytes },
    connectionTimeout: limits.idleTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    http: {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs),
      connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
      // Judged with all other header lines, so that the answer has the shape of every other.
      requireHostHeader: false,
    },
    clientErrorHandler: (error, socket) => handlers.onBroken(error, socket as Socket),
    frameworkErrors: (error, request, reply) => handlers.fail(error, request, reply),
  });
  // One more is enough to be told from what may be.
  app.server.maxHeadersCount = MAX_HEADER_LINES + 1;
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  for (const method of METHODS) {
    // CONNECT never reaches a request handler.
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  }
  // Each line names its request itself; a logger for each request would cost more than all its lines.
  app.setChildLoggerFactory((logger) => logger);
  app.setErrorHandler(handlers.fail);
  app.setNotFoundHandler((request, reply) => handlers.fail(notFound(), request, reply));
  return app;
}

const notFound = () => new FlywheelError('ERR_NOT_FOUND', 'There is nothing at this path.');

/** The connections of a server, and what is answered on them at last. */
class Connections {
  /** The answer to the latest request of each. */
  readonly #latest = new WeakMap<Socket, FastifyReply>();
  readonly #broken = new WeakMap<Socket, FlywheelError>();
  open = 0;
  accepted = 0;

  add(socket: Socket, max: number): void {
    this.accepted += 1;
    this.open += 1;
    socket.once('close', () => {
      this.open -= 1;
    });
    if (this.open > max) socket.destroy();
  }

  asked(reply: FastifyReply): void {
    this.#latest.set(reply.request.raw.socket, reply);
  }

  isLatest(reply: FastifyReply): boolean {
    return this.#latest.get(reply.request.raw.socket) === reply;
  }

  /** Why nothing more can be read of a connection. */
  problemOf({ socket }: IncomingMessage): FlywheelError | undefined {
    return this.#broken.get(socket);
  }

  /**
   * Answers what node could not read, and ends its connection. Where it breaks off a body that is being read, that request gets
   * the answer; else the answer goes out behind those of the requests before it.
   */
  break(cause: NodeJS.ErrnoException, socket: Socket, log: FastifyInstance['log']): void {
    const last = this.#latest.get(socket);
    const [request, response] = [last?.request.raw, last?.raw];
    if (this.#broken.has(socket)) return;
    if (cause.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const error = brokenRequest(cause);
    this.#broken.set(socket, error);
    // It listens to errors while its body is read.
    if (request?.complete === false && response?.closed === false)
      return void (request.listenerCount('error') > 0 && request.emit('error', error));
    const answer = (): void => {
      const requestId = randomUUID();
      log.info({ requestId, error: cause.code ?? 'unknown' }, 'not HTTP');
      socket.write(answerText(error, requestId));
      socket.destroySoon();
    };
    if (response?.closed === false) response.once('close', answer);
    else answer();
  }
}

/** The whole answer as text, for a connection that ends with it. */
function answerText(error: FlywheelError, requestId: string): string {
  const { status, body } = toProblem(error, requestId);
  const text = JSON.stringify(body);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
    `${REQUEST_ID_HEADER}: ${requestId}`,
    'cache-control: no-store',
    'connection: close',
    '',
    text,
  ].join('\r\n');
}

/** What holds for every request, whatever its path. */
function addHooks(app: FastifyInstance, context: ServeContext, connections: Connections): void {
  const { requests, shutdown, settings } = context;
  const { limits } = settings;
  app.addHook('onRequest', (request, reply, done) => {
    connections.asked(reply);
    if (!request.is404) requests.of(request.raw).route = request.routeOptions.url ?? null;
    try {
      shutdown.refuseWhenClosing();
      checkRequestHeaders(request, reply);
      if (request.is404) throw notFound();
      done();
    } catch (error) {
      done(error as Error);
    }
  });
  app.removeAllContentTypeParsers();
  // The media type was judged before.
  app.addContentTypeParser('*', async (request: FastifyRequest) => {
    const problem = connections.problemOf(request.raw);
    if (problem !== undefined) throw problem;
    return readBytes(request.raw, limits.maxBodyBytes);
  });
  app.addHook('onSend', async ({ raw }, reply, payload) => {
    await shutdown.listenerClosed;
    if (connections.problemOf(raw) !== undefined || (shutdown.isClosing && connections.isLatest(reply)))
      reply.header('connection', 'close');
    raw.socket.setTimeout?.(limits.answerTimeoutMs);
    const isLast = reply.getHeader('connection') === 'close' || !reply.raw.shouldKeepAlive;
    const hasMore = hasBody(raw.headers) && !raw.complete && !raw.destroyed;
    if (isLast && hasMore && connections.problemOf(raw) === undefined)
      await within(LINGER_MS, once(raw.resume(), 'close'));
    return payload;
  });
}

/** Where it listens: on one address, or on all that `localhost` has. */
async function listen(
  app: FastifyInstance,
  servers: Server[],
  { host, port }: { readonly host: string; readonly port: number },
): Promise<number> {
  const addresses = host === 'localhost' ? await lookup(host, { all: true }) : [{ address: host }];
  const [first = { address: host }, ...more] = addresses;
  await app.listen({ host: first.address, port });
  servers.push(app.server);
  const chosen = (app.server.address() as AddressInfo).port;
  for (const { address } of more) {
    const beside = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      app.server.emit('connection', socket),
    );
    beside.listen({ host: address, port: chosen });
    // A machine may name an address that it does not have, such as ::1 without IPv6.
    await once(beside, 'listening').then(
      () => servers.push(beside),
      () => undefined,
    );
  }
  return chosen;
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
  const { limits, basePath } = settings;
  const connections = new Connections();
  const servers: Server[] = [];
  const shutdown = new Shutdown();
  let host: string | undefined;
  const requests = new Requests(limits.maxRunning, (notes) => {
    const seconds = (performance.now() - notes.startedMs) / 1_000;
    metrics.ended(notes.operation ?? 'none', notes.response.statusCode, seconds);
    logEnd(app.log, notes);
  });
  const fail: Fail = (thrown, request, reply) => {
    const notes = requests.of(request.raw);
    const error = servedError(thrown, notes.operation);
    const problem = toProblem(error, notes.requestId);
    notes.problemCode = error.wireCode;
    if (isOwnFault(error)) app.log.error({ requestId: notes.requestId, err: error }, 'failed');
    reply.code(problem.status).headers(problem.headers).type('application/json; charset=utf-8');
    void reply.send(JSON.stringify(problem.body));
  };
  const metrics = await createMetrics(
    deps.metrics ?? {},
    { running: () => requests.running, connections: () => connections.open },
    settings.version,
  );
  const app = createApp(deps, settings, {
    fail,
    onBroken: (error, socket) => connections.break(error, socket, app.log),
  });
  app.server.prependListener('request', (request, response) => requests.begin(request, response));
  app.server.on('connection', (socket) => connections.add(socket, limits.maxConnections));
  const context = { deps, settings, metrics, requests, shutdown, listeningOn: () => host };
  if (settings.corsOrigins.length > 0) await app.register(cors, corsOptions(settings));
  addHooks(app, context, connections);
  addRoutes(app, context);
  await app.ready();
  return {
    answer(request, response) {
      requests.begin(request, response);
      app.routing(request, response);
    },
    async listen(address) {
      host = address.host;
      const port = await listen(app, servers, address);
      return `http://${host.includes(':') ? `[${host}]` : host}:${port}${basePath}`;
    },
    async closeGracefully(graceMs) {
      app.log.info({ graceMs }, 'stopping');
      const inTime = await shutdown.close(
        {
          ...{ servers, requests, drainIdleMs: limits.drainIdleMs },
          accepted: () => connections.accepted,
          closeIdle: () => app.server.closeIdleConnections(),
        },
        graceMs,
      );
      app.server.closeAllConnections();
      await app.close();
      return inTime;
    },
  };
}
