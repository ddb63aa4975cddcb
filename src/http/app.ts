/** The HTTP server over any `Service`: limits, hooks and error answers. The routes decide the content of answers. */
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, METHODS, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import fastify, { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { REQUEST_ID_HEADER } from '../contract/headers.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { readBytes } from './body.js';
import { checkRequestHeaders, MAX_HEADER_LINES } from './headers.js';
import { logEnd } from './log.js';
import { type HttpServerDeps, type HttpServerOptions, httpSettings } from './options.js';
import { brokenRequest, isOwnFault, servedError, toProblem } from './problem.js';
import { Requests } from './requests.js';
import { addRoutes } from './routes.js';
import { Shutdown } from './shutdown.js';

export interface HttpServer {
  answer(request: IncomingMessage, response: ServerResponse): void;
  /** @returns the base address, with the actual port when the port is 0. */
  listen(address: { readonly host: string; readonly port: number }): Promise<string>;
  /**
   * Stops accepting connections and answers the requests received so far. After `graceMs` the rest are answered 503. A second
   * call replaces the grace.
   * @returns whether all requests were answered within the grace.
   */
  closeGracefully(graceMs: number): Promise<boolean>;
}

const TIMEOUT_CHECK_INTERVAL_MS = 1_000;
/** Closing a connection at once would reset it, and the client could lose the last answer (RFC 9112, section 9.6). */
const LINGER_MS = 1_000;
const JSON_TYPE = 'application/json; charset=utf-8';

const notFound = () => new FlywheelError('ERR_NOT_FOUND', 'Nothing is at this path.');

function answerText(error: FlywheelError, requestId: string): string {
  const { status, body } = toProblem(error, requestId);
  const text = JSON.stringify(body);
  const headers = {
    ...{ 'content-type': JSON_TYPE, 'content-length': Buffer.byteLength(text) },
    ...{ [REQUEST_ID_HEADER]: requestId, 'cache-control': 'no-store', connection: 'close' },
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', text].join('\r\n');
}

/** Creates a server that does not listen yet. @throws `ERR_CONFIG_INVALID` for an invalid header name. */
export async function createHttpServer(
  deps: HttpServerDeps,
  options: HttpServerOptions = {},
): Promise<HttpServer> {
  const settings = httpSettings(options);
  const { limits } = settings;
  const shutdown = new Shutdown();
  const requests = new Requests(limits.maxRunning, (notes) => {
    const seconds = (performance.now() - notes.startedMs) / 1_000;
    deps.metrics.ended(notes.operation ?? 'none', notes.response.statusCode, seconds);
    logEnd(app.log, notes);
  });
  const latest = new WeakMap<Socket, FastifyReply>();
  const broken = new WeakMap<Socket, FlywheelError>();

  const fail = (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const notes = requests.of(request.raw);
    const error = servedError(thrown, notes.operation);
    const { status, headers, body } = toProblem(error, notes.requestId);
    notes.problemCode = error.wireCode;
    if (isOwnFault(error)) app.log.error({ requestId: notes.requestId, err: error }, 'failed');
    void reply.code(status).headers(headers).type(JSON_TYPE).send(JSON.stringify(body));
  };
  /** Answers unparsable input after the answers still due on the connection, then closes the connection. */
  const onBroken = (cause: NodeJS.ErrnoException, socket: Socket): void => {
    const reply = latest.get(socket);
    const isOpen = reply?.raw.closed === false;
    if (broken.has(socket)) return;
    if (cause.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const error = brokenRequest(cause);
    broken.set(socket, error);
    const request = reply?.request.raw;
    if (isOpen && request?.complete === false) {
      // The body reader of the request listens for `error` and rejects, so the request is answered normally.
      if (request.listenerCount('error') > 0) request.emit('error', error);
      return;
    }
    const answer = (): void => {
      const requestId = randomUUID();
      app.log.info({ requestId, error: cause.code }, 'not HTTP');
      socket.write(answerText(error, requestId));
      socket.destroySoon();
    };
    if (isOpen) reply?.raw.once('close', answer);
    else answer();
  };

  const app = fastify({
    loggerInstance: deps.log,
    logController: new LogController({ disableRequestLogging: true }),
    exposeHeadRoutes: false,
    return503OnClosing: false,
    // The operation checks the length of ids, so that its error has the operation's form.
    routerOptions: { maxParamLength: limits.maxHeaderBytes },
    connectionTimeout: limits.idleTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    http: {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs),
      connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
      // Checked in `checkRequestHeaders`, so that the error has the service's JSON form.
      requireHostHeader: false,
    },
    clientErrorHandler: (error, socket) => onBroken(error, socket as Socket),
    frameworkErrors: fail,
  });
  const { server } = app;
  // One line above the maximum shows that the maximum is exceeded.
  server.maxHeadersCount = MAX_HEADER_LINES + 1;
  server.prependListener('request', (request, response) => requests.begin(request, response));
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.maxConnections = limits.maxConnections;
  server.on('connection', (socket) => {
    socket.once('close', () => requests.gone(socket));
    // Node calls this after the last answer of a connection (RFC 9112, section 9.6).
    socket.destroySoon = () => {
      socket.end();
      setTimeout(() => socket.destroy(), LINGER_MS).unref();
    };
  });
  // Node emits CONNECT requests as a separate event, not as requests.
  for (const method of METHODS)
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  // A child logger per request costs more than all its lines; each line has the request id already.
  app.setChildLoggerFactory((logger) => logger);
  app.setErrorHandler(fail);
  app.setNotFoundHandler((request, reply) => fail(notFound(), request, reply));
  const readBody = async ({ raw }: FastifyRequest): Promise<Buffer> => {
    const error = broken.get(raw.socket);
    if (error !== undefined) throw error;
    return readBytes(raw, limits.maxBodyBytes);
  };
  app.addHook('onRequest', async (request, reply) => {
    const { socket } = request.raw;
    if (socket.writableEnded) return void reply.hijack();
    latest.set(socket, reply);
    if (!request.is404) requests.of(request.raw).route = request.routeOptions.url ?? null;
    shutdown.refuseWhenClosing();
    checkRequestHeaders(request, reply);
    if (request.is404) throw notFound();
  });
  app.addHook('onSend', async ({ raw: { socket, complete } }, reply, payload) => {
    await shutdown.listenerClosed;
    const isBroken = broken.has(socket) && !complete;
    if (isBroken || (shutdown.isClosing && latest.get(socket) === reply)) reply.header('connection', 'close');
    // A client that does not read its answer gets a shorter timeout than a client that waits for one.
    socket.setTimeout?.(limits.answerTimeoutMs);
    return payload;
  });
  addRoutes(app, { deps, settings, requests, shutdown, readBody });
  await app.ready();

  return {
    answer(request, response) {
      requests.begin(request, response);
      app.routing(request, response);
    },
    async listen({ host, port: wanted }) {
      const address = { port: wanted, host: host === 'localhost' ? '127.0.0.1' : host };
      await app.listen(address).catch((cause: NodeJS.ErrnoException) => {
        const why = cause.code === 'EADDRINUSE' ? 'it is in use' : cause.message;
        throw new FlywheelError('ERR_CONFIG_INVALID', `Cannot listen on ${host}, port ${wanted}: ${why}.`, {
          ...{ cause, hint: 'Use another --port.' },
        });
      });
      const { port } = server.address() as AddressInfo;
      return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
    },
    async closeGracefully(graceMs) {
      app.log.info({ graceMs }, 'stopping');
      const { drainIdleMs } = limits;
      const inTime = await shutdown.close({ server, requests, drainIdleMs }, graceMs);
      await app.close();
      return inTime;
    },
  };
}
