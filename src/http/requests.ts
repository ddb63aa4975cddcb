/** The requests of a server: each ends once, when its answer is out or its client gone, and all work for it is done. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { REQUEST_ID_HEADER } from '../contract/headers.js';
import type { OperationId } from '../contract/operations.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { requestIdFrom } from './headers.js';

export interface Notes {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly startedMs: number;
  /** Pattern of the path, since a path may hold anything; `null` when no pattern fits. */
  route: string | null;
  operation?: OperationId;
  keyId?: string;
  project?: string | undefined;
  operationId?: string;
  outcome?: Readonly<Record<string, unknown>>;
  problemCode?: string;
  replayed?: boolean;
}

export class Requests {
  readonly #notes = new WeakMap<IncomingMessage, Notes>();
  readonly #open = new Set<Notes>();
  readonly #working = new Set<Notes>();
  readonly #waiting: (() => void)[] = [];
  readonly #maxRunning: number;
  readonly #onEnd: (notes: Notes) => void;

  constructor(maxRunning: number, onEnd: (notes: Notes) => void) {
    this.#maxRunning = maxRunning;
    this.#onEnd = onEnd;
  }

  /** Calls of the service that are being worked on, also for clients that have gone. */
  get running(): number {
    return this.#working.size;
  }

  /** The headers that every answer has are set here, so that those of the framework have them too. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    const requestId = requestIdFrom(request.headers[REQUEST_ID_HEADER]);
    response.setHeader(REQUEST_ID_HEADER, requestId);
    response.setHeader('cache-control', 'no-store');
    response.setHeader('x-content-type-options', 'nosniff');
    const notes: Notes = { request, response, requestId, startedMs: performance.now(), route: null };
    this.#notes.set(request, notes);
    this.#open.add(notes);
    response.once('close', () => this.#endIfOver(notes));
  }

  of(request: IncomingMessage): Notes {
    return this.#notes.get(request) as Notes;
  }

  /** @throws `ERR_UNAVAILABLE` when as many calls of the service run as may. */
  refuseWhenFull(): void {
    if (this.running < this.#maxRunning) return;
    throw new FlywheelError('ERR_UNAVAILABLE', 'Too many requests are running.');
  }

  /** Calls the service. A call that moves money is finished whether or not its caller has gone. */
  async run<Value>(notes: Notes, call: () => Promise<Value>): Promise<Value> {
    this.refuseWhenFull();
    this.#working.add(notes);
    try {
      return await call();
    } finally {
      this.#working.delete(notes);
      this.#endIfOver(notes);
    }
  }

  none(): Promise<void> {
    return this.#open.size === 0 ? Promise.resolve() : new Promise((done) => void this.#waiting.push(done));
  }

  /** A connection is closed: answers that wait for others before them on it are never given. */
  gone(socket: Socket): void {
    for (const notes of this.#open) if (notes.request.socket === socket) this.#endIfOver(notes);
  }

  #endIfOver(notes: Notes): void {
    const isGone = notes.response.closed || notes.request.socket.destroyed;
    if (!isGone || this.#working.has(notes) || !this.#open.delete(notes)) return;
    this.#onEnd(notes);
    if (this.#open.size === 0) for (const done of this.#waiting.splice(0)) done();
  }
}
