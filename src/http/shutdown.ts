/**
 * How a server ends: it accepts no more connections, answers what was received, and cuts nothing that it has read. What is late
 * may come again; the service stops at its next step and keeps what it has stored.
 */
import { once, setMaxListeners } from 'node:events';
import type { Server } from 'node:http';
import { Server as TcpServer } from 'node:net';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Requests } from './requests.js';

/** After the grace: time for a call to stop and give its own answer. */
const STOP_MS = 1_000;
/** After the grace: time for calls to end, since what they write to is closed next. */
const SETTLE_MS = 5_000;
/** Time for clients to take their last answers and close. */
const CLOSE_MS = 1_000;
/** Without a new connection for so long, none waits to be accepted. After 100 times as long it is not waited for. */
const QUIET_MS = 10;

interface ShutdownDeps {
  readonly server: Server;
  readonly requests: Requests;
  /** For how long idle connections are kept, on which a request may be on its way. */
  readonly drainIdleMs: number;
}

const shuttingDown = () => new FlywheelError('ERR_UNAVAILABLE', 'The service is shutting down.');

async function within(ms: number, event: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  await Promise.race([event, delay(ms, undefined, { signal: timer.signal }).catch(() => undefined)]);
  timer.abort();
}

/** Closing a listener resets the connections that wait to be accepted, with what was sent on them: it waits until there are none. */
async function stopListening({ server }: ShutdownDeps): Promise<void> {
  let accepted = 0;
  server.on('connection', () => {
    accepted += 1;
  });
  for (let before = -1, turn = 0; accepted !== before && turn < 100; turn += 1) {
    before = accepted;
    await delay(QUIET_MS);
    // A timer that is late comes before the connections that came meanwhile.
    await nextTurn();
  }
  // The method of http.Server would also cut connections that seem idle while a request is on its way.
  TcpServer.prototype.close.call(server);
}

export class Shutdown {
  readonly #grace = new AbortController();
  #closing: Promise<boolean> | undefined;
  #graceTimer: NodeJS.Timeout | undefined;
  readonly signal: AbortSignal = this.#grace.signal;
  isClosing = false;
  /** An answer waits for it: its client might come back while the listener is being closed, and be reset. */
  listenerClosed = Promise.resolve();

  constructor() {
    setMaxListeners(0, this.signal);
  }

  /** @throws `ERR_UNAVAILABLE` once no more connections are accepted. */
  refuseWhenClosing(): void {
    if (this.isClosing) throw shuttingDown();
  }

  /** The outcome of a call, or `ERR_UNAVAILABLE` when the grace is over and the call goes on. */
  orRefusal<Value>(call: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const refuse = () => setTimeout(reject, STOP_MS, shuttingDown()).unref();
      this.signal.addEventListener('abort', refuse, { once: true });
      call.finally(() => this.signal.removeEventListener('abort', refuse)).then(resolve, reject);
    });
  }

  /** Asking again replaces the grace. @returns whether all was answered within the grace. */
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
