/** The sockets of a server: where it listens, how long it waits for what, and that each request begins with its life. */
import { lookup } from 'node:dns/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, type Socket, Server as TcpServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { answerBrokenConnection, answerExpectation } from './broken-connection.js';
import type { Connections } from './connections.js';
import type { HttpLimits } from './options.js';
import { MAX_HEADER_LINES } from './request-headers.js';

/** How often node looks for requests that take too long to arrive. */
const TIMEOUT_CHECK_INTERVAL_MS = 1_000;
/** Without a new connection for so long nobody is about to connect. */
const QUIET_MS = 5;
/** In a turn of the event loop that was longer somebody may have connected since it was looked. */
const SHORT_TURN_MS = 1;
/** Quiet or not, after this time no more connections are taken. */
const MAX_STOP_MS = 1_000;

/** What is done with a request; answers on its response. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

export interface ListenerDeps {
  readonly connections: Connections;
  readonly limits: HttpLimits;
  /** Hears of what was not HTTP and is no request. */
  readonly onNotHttp: (requestId: string, code: string) => void;
}

/** Listens on one address, or on all that `localhost` has. */
export class Listener {
  readonly #deps: ListenerDeps;
  readonly #servers: Server[] = [];
  #host: string | undefined;
  /** Connections so far. */
  #taken = 0;

  constructor(deps: ListenerDeps) {
    this.#deps = deps;
  }

  /** As it was given to {@link listen}. */
  get host(): string | undefined {
    return this.#host;
  }

  /** @returns the port, which is another one where 0 was asked for. */
  async listen(handle: RequestHandler, { host, port }: { host: string; port: number }): Promise<number> {
    this.#host = host;
    const [first = host, ...more] = host === 'localhost' ? await addressesOf(host) : [host];
    const chosen = await this.#open(handle, first, port);
    // A machine may name an address that it does not have, such as ::1 without IPv6.
    for (const address of more) await this.#open(handle, address, chosen).catch(() => undefined);
    return chosen;
  }

  /**
   * Takes no more connections. The system resets those that wait to be taken, together with what was sent on them; so it is
   * done at a time when none is waiting.
   */
  async stop(): Promise<void> {
    const latestMs = performance.now() + MAX_STOP_MS;
    let taken = -1;
    let quietSinceMs = 0;
    let turnMs = 0;
    do {
      const turnBeganMs = performance.now();
      // One connection is taken a turn, however many wait.
      await nextTurn();
      turnMs = performance.now() - turnBeganMs;
      if (this.#taken !== taken) quietSinceMs = turnBeganMs + turnMs;
      taken = this.#taken;
    } while (!isQuiet(quietSinceMs, turnMs) && performance.now() < latestMs);
    // Of http.Server the method would also cut connections that are idle, or seem so while a request is on its way.
    for (const server of this.#servers) TcpServer.prototype.close.call(server);
  }

  /** Lets go of what is left of the servers, once there are no connections. */
  close(): void {
    for (const server of this.#servers.splice(0)) server.close();
  }

  #open(handle: RequestHandler, host: string, port: number): Promise<number> {
    const server = this.#createServer(handle);
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => {
        server.off('error', reject);
        this.#servers.push(server);
        resolve((server.address() as AddressInfo).port);
      });
    });
  }

  #createServer(handle: RequestHandler): Server {
    const { connections, limits, onNotHttp } = this.#deps;
    const server = createServer({
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs),
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
      // It is asked for where all other header lines are judged, so that the answer has the shape of every other.
      requireHostHeader: false,
    });
    // One more is enough to be told from what may be.
    server.maxHeadersCount = MAX_HEADER_LINES + 1;
    server.setTimeout(limits.idleTimeoutMs);
    server.on('connection', (socket) => {
      this.#taken += 1;
      connections.open(socket);
    });
    server.on('request', (request, response) => {
      if (connections.begin(request, response) !== undefined) handle(request, response);
    });
    server.on('checkExpectation', (request, response) => {
      const life = connections.begin(request, response);
      if (life !== undefined) answerExpectation(life, response);
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      const log = (requestId: string): void => onNotHttp(requestId, error.code ?? 'unknown');
      answerBrokenConnection(error, socket as Socket, connections.of(socket as Socket), log);
    });
    return server;
  }
}

const isQuiet = (sinceMs: number, turnMs: number): boolean =>
  turnMs < SHORT_TURN_MS && performance.now() - sinceMs >= QUIET_MS;

async function addressesOf(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
}
