/** Requests in progress. A request ends once: its answer is sent or its client is gone, and its work is done. */
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
  /** Route pattern, because a path may hold anything; `null` for no match. */
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

  constructor(
    private readonly maxRunning: number,
    private readonly onEnd: (notes: Notes) => void,
  ) {}

  get running(): number {
    return this.#working.size;
  }

  /** Sets the common headers here, so that answers of Fastify itself have them too. */
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

  /** @throws `ERR_UNAVAILABLE` when the maximum number of calls is running. */
  refuseWhenFull(): void {
    if (this.running < this.maxRunning) return;
    throw new FlywheelError('ERR_UNAVAILABLE', 'Too many requests are running.');
  }

  /** Calls the service. A call that moves money runs to its end even if the client disconnects. */
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

  /** Ends requests of a closed connection whose answers are queued behind others and will never be sent. */
  gone(socket: Socket): void {
    for (const notes of this.#open) if (notes.request.socket === socket) this.#endIfOver(notes);
  }

  #endIfOver(notes: Notes): void {
    const isGone = notes.response.closed || notes.request.socket.destroyed;
    if (!isGone || this.#working.has(notes) || !this.#open.delete(notes)) return;
    this.onEnd(notes);
    if (this.#open.size === 0) for (const done of this.#waiting.splice(0)) done();
  }
}
