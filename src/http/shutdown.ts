/**
 * Graceful shutdown: accepts no more connections and answers all received requests. After the grace, running calls stop at their
 * next step and keep what they stored; late requests are answered 503.
 */
import { once, setMaxListeners } from 'node:events';
import type { Server } from 'node:http';
import { Server as TcpServer } from 'node:net';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Requests } from './requests.js';

/** After the grace: time for a call to stop and give its own answer. */
const STOP_MS = 1_000;
/** After the grace: time for calls to end before their connections are closed. */
const SETTLE_MS = 5_000;
const CLOSE_MS = 1_000;
/** The listener closes after this time without a new connection, and at the latest after 100 times this time. */
const QUIET_MS = 10;

interface ShutdownDeps {
  readonly server: Server;
  readonly requests: Requests;
  readonly drainIdleMs: number;
}

const shuttingDown = () => new FlywheelError('ERR_UNAVAILABLE', 'The service is shutting down.');

async function within(ms: number, event: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  await Promise.race([event, delay(ms, undefined, { signal: timer.signal }).catch(() => undefined)]);
  timer.abort();
}

/** Closing a listener resets connections in its accept queue, so wait until the queue is empty. */
async function stopListening({ server }: ShutdownDeps): Promise<void> {
  let accepted = 0;
  server.on('connection', () => {
    accepted += 1;
  });
  for (let before = -1, turn = 0; accepted !== before && turn < 100; turn += 1) {
    before = accepted;
    await delay(QUIET_MS);
    // A late timer fires before connections that arrived meanwhile are handled.
    await nextTurn();
  }
  // `http.Server.close` would also cut connections that look idle while a request is in transit.
  TcpServer.prototype.close.call(server);
}

export class Shutdown {
  readonly #grace = new AbortController();
  #closing: Promise<boolean> | undefined;
  #graceTimer: NodeJS.Timeout | undefined;
  readonly signal: AbortSignal = this.#grace.signal;
  isClosing = false;
  /** Answers wait for this: a client could reconnect while the listener closes, and be reset. */
  listenerClosed = Promise.resolve();

  constructor() {
    setMaxListeners(0, this.signal);
  }

  /** @throws `ERR_UNAVAILABLE` once no more connections are accepted. */
  refuseWhenClosing(): void {
    if (this.isClosing) throw shuttingDown();
  }

  /** The result of a call, or `ERR_UNAVAILABLE` when the grace is over before the call ends. */
  orRefusal<Value>(call: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const refuse = () => setTimeout(reject, STOP_MS, shuttingDown()).unref();
      this.signal.addEventListener('abort', refuse, { once: true });
      call.finally(() => this.signal.removeEventListener('abort', refuse)).then(resolve, reject);
    });
  }

  /** A second call replaces the grace. @returns whether all requests were answered within the grace. */
  close(deps: ShutdownDeps, graceMs: number): Promise<boolean> {
    clearTimeout(this.#graceTimer);
    this.#graceTimer = setTimeout(() => this.#grace.abort(shuttingDown()), graceMs);
    this.#closing ??= this.#close(deps);
    return this.#closing;
  }

  async #close(deps: ShutdownDeps): Promise<boolean> {
    const { server, requests, drainIdleMs } = deps;
    const graceOver = once(this.signal, 'abort');
    const allGone = server.listening ? once(server, 'close') : Promise.resolve();
    this.listenerClosed = stopListening(deps).then(() => {
      this.isClosing = true;
    });
    await this.listenerClosed;
    await Promise.race([within(drainIdleMs, allGone).then(() => requests.none()), graceOver]);
    clearTimeout(this.#graceTimer);
    if (this.signal.aborted) await within(SETTLE_MS, requests.none());
    server.closeIdleConnections();
    await within(CLOSE_MS, allGone);
    server.closeAllConnections();
    return !this.signal.aborted;
  }
}
