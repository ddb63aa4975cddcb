/**
 * How a server ends: it takes no more connections, answers what was received, and cuts nothing that it has read. What is late
 * may come again; the service stops at its next step and keeps what it has stored.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Connections } from './connections.js';
import type { Listener } from './listener.js';
import type { RequestLives } from './request-life.js';

/** After the grace: time for the service to stop and give its own answer. */
const STOP_MS = 1_000;
/** After the grace: time for calls to come to their end, since what they write to is closed next. */
const SETTLE_MS = 5_000;
/** Time for clients to take their last answers and close. */
const CLOSE_MS = 1_000;

export interface ShutdownDeps {
  readonly listener: Listener;
  readonly connections: Connections;
  readonly lives: RequestLives;
  /** For how long idle connections are kept, on which a request may be on its way. */
  readonly drainIdleMs: number;
}

const shuttingDown = (): FlywheelError =>
  new FlywheelError('ERR_UNAVAILABLE', 'The service is shutting down.');

/** Waits for an event, but not for long. */
async function within(ms: number, event: Promise<void>): Promise<void> {
  const timer = new AbortController();
  const timeout = delay(ms, undefined, { signal: timer.signal }).catch(() => undefined);
  await Promise.race([event, timeout]);
  timer.abort();
}

/** Whether a server is ending, and how far it has come. */
export class Shutdown {
  readonly #graceOver = new AbortController();
  /** Answers that wait until nobody can connect any more; `undefined` at all other times. */
  #held: (() => void)[] | undefined;
  #isClosing = false;
  #closing: Promise<boolean> | undefined;
  #graceTimer: NodeJS.Timeout | undefined;

  constructor() {
    setMaxListeners(0, this.#graceOver.signal);
  }

  /** Does it take no more connections? */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Aborted at the end of the grace. */
  get signal(): AbortSignal {
    return this.#graceOver.signal;
  }

  /** @throws `ERR_UNAVAILABLE` once no more connections are taken. */
  refuseWhenClosing(): void {
    if (this.#isClosing) throw shuttingDown();
  }

  /**
   * Lets an answer go out: now, or, while connections are about to be no longer taken, when that is done. Else a client
   * with its answer might come back at just that time, on a connection that nobody takes.
   */
  letGo(send: () => void): void {
    if (this.#held === undefined) send();
    else this.#held.push(send);
  }

  /**
   * Closes a server. Asking again replaces the grace.
   * @returns whether all was answered within the grace.
   */
  close(deps: ShutdownDeps, graceMs: number): Promise<boolean> {
    clearTimeout(this.#graceTimer);
    this.#graceTimer = setTimeout(() => this.#graceOver.abort(shuttingDown()), graceMs);
    this.#closing ??= this.#close(deps);
    return this.#closing;
  }

  async #close(deps: ShutdownDeps): Promise<boolean> {
    const { listener, connections } = deps;
    const graceOver = new Promise<void>((resolve) =>
      this.signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    const held: (() => void)[] = [];
    this.#held = held;
    await listener.stop();
    this.#isClosing = true;
    this.#held = undefined;
    for (const send of held) send();
    await Promise.race([answerAll(deps), graceOver]);
    clearTimeout(this.#graceTimer);
    if (this.signal.aborted) await refuseRest(deps);
    connections.endAll();
    await within(CLOSE_MS, connections.none());
    connections.destroyAll();
    listener.close();
    return !this.signal.aborted;
  }
}

/** Gives the service the time to stop at its next step, then answers for it. */
async function refuseRest({ connections, lives }: ShutdownDeps): Promise<void> {
  const refusal = setTimeout(() => connections.refuseAll(shuttingDown()), STOP_MS);
  await within(SETTLE_MS, lives.none());
  clearTimeout(refusal);
}

/** Resolves when every request has its answer and none can be on its way any more. */
async function answerAll({ connections, lives, drainIdleMs }: ShutdownDeps): Promise<void> {
  const keptUntilMs = performance.now() + drainIdleMs;
  for (;;) {
    await lives.none();
    const leftMs = keptUntilMs - performance.now();
    if (leftMs <= 0 || !connections.hasIdle) return;
    await within(leftMs, connections.none());
  }
}
