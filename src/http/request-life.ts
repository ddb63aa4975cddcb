/**
 * The life of a request: from its header lines until its answer is out, or cannot be given any more, and all work for it is
 * done. However it comes to that, it ends once.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { REQUEST_ID_HEADER } from '../contract/headers.js';
import type { OperationId } from '../contract/operations.js';
import { FlywheelError, invariant } from '../errors/flywheel-error.js';
import type { Outcome } from './outcome.js';
import { requestIdFrom } from './request-headers.js';

declare module 'node:http' {
  interface IncomingMessage {
    /** Set for every request that is handled. */
    life?: RequestLife;
  }
}

/** One request, and what it gathers on its way for log and metrics. */
export class RequestLife {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly #startedMs = performance.now();
  readonly #onEnd: (life: RequestLife) => void;
  #atEnd: (() => void) | undefined;
  #works = 0;
  #isClosed = false;
  #hasAnswer = false;
  #hasEnded = false;
  #broken: FlywheelError | undefined;
  #onBroken: ((error: FlywheelError) => void) | undefined;
  #onRefused: ((error: FlywheelError) => void) | undefined;

  /** The pattern of the path, since a path may hold anything; `null` when no pattern fits. */
  route: string | null = null;
  operation: OperationId | undefined;
  keyId: string | undefined;
  /** Id of the token that the key is for. */
  project: string | undefined;
  /** Under which the service keeps the request. */
  operationId: string | undefined;
  /** The service was called for it. */
  isServed = false;
  /** Transactions of the answer, and its batch. */
  outcome: Outcome | undefined;
  problemCode: string | undefined;
  replayed = false;

  constructor(request: IncomingMessage, response: ServerResponse, onEnd: (life: RequestLife) => void) {
    this.request = request;
    this.response = response;
    this.requestId = requestIdFrom(request.headers[REQUEST_ID_HEADER]);
    this.#onEnd = onEnd;
  }

  /** The life that was begun for a request. */
  static of({ life }: IncomingMessage): RequestLife {
    invariant(life !== undefined, 'Every request begins with its life.');
    return life;
  }

  /** Is a part of the request still to come, and nothing done for it? */
  get isArriving(): boolean {
    return !this.request.complete && !this.isServed && !this.#hasAnswer;
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedMs;
  }

  /** Was the answer handed to the operating system, whole? */
  get isAnswered(): boolean {
    return this.response.writableFinished;
  }

  /** Work begins for the request, which does not end before it, whether or not anybody still waits for the answer. */
  workBegins(): void {
    this.#works += 1;
  }

  workEnds(): void {
    this.#works -= 1;
    this.#endIfOver();
  }

  /** The answer is out, or its connection is gone. */
  close(): void {
    this.#isClosed = true;
    this.#endIfOver();
  }

  /** Runs `action` when the request ends; there is one. */
  atEnd(action: () => void): void {
    this.#atEnd = action;
  }

  /** The rest of the request will never arrive; who waits for it learns why, now or as soon as it begins to. */
  break(error: FlywheelError): void {
    this.#broken ??= error;
    this.#onBroken?.(this.#broken);
  }

  /** @param listener - reads the body; there is one. */
  onBroken(listener: (error: FlywheelError) => void): void {
    this.#onBroken = listener;
    if (this.#broken !== undefined) listener(this.#broken);
  }

  /** Is there no answer yet? The caller gives it then: it asks but once. */
  mayAnswer(): boolean {
    const isFirst = !this.#hasAnswer;
    this.#hasAnswer = true;
    return isFirst;
  }

  /** There is no time to wait for the answer that is being made; this error is the answer. */
  refuse(error: FlywheelError): void {
    this.#onRefused?.(error);
  }

  /** @param listener - answers, unless that was done already; there is one. */
  onRefused(listener: (error: FlywheelError) => void): void {
    this.#onRefused = listener;
  }

  #endIfOver(): void {
    if (this.#hasEnded || !this.#isClosed || this.#works > 0) return;
    this.#hasEnded = true;
    this.#atEnd?.();
    this.#onEnd(this);
  }
}

/** What is made known of all requests. */
export interface LifeObserver {
  /** Once for each request. */
  ended(life: RequestLife): void;
  /** The service was called, or has come to an end. */
  running(delta: 1 | -1): void;
}

/** All requests of a server that have not ended. */
export class RequestLives {
  readonly #maxRunning: number;
  readonly #observer: LifeObserver;
  readonly #waiting: (() => void)[] = [];
  #open = 0;
  #running = 0;

  constructor(maxRunning: number, observer: LifeObserver) {
    this.#maxRunning = maxRunning;
    this.#observer = observer;
  }

  begin(request: IncomingMessage, response: ServerResponse): RequestLife {
    const life = new RequestLife(request, response, this.#end);
    request.life = life;
    this.#open += 1;
    return life;
  }

  /** @throws `ERR_UNAVAILABLE` when as many calls of the service run as may. */
  refuseWhenFull(): void {
    if (this.#running < this.#maxRunning) return;
    throw new FlywheelError('ERR_UNAVAILABLE', 'Too many requests are running.');
  }

  /**
   * Calls the service for a request. The call counts as running until it comes to its own end: what moves money is finished
   * whether or not its caller has gone.
   */
  async run<Value>(life: RequestLife, call: () => Promise<Value>): Promise<Value> {
    this.refuseWhenFull();
    this.#running += 1;
    this.#observer.running(1);
    life.isServed = true;
    life.workBegins();
    try {
      return await call();
    } finally {
      this.#running -= 1;
      this.#observer.running(-1);
      life.workEnds();
    }
  }

  /** Resolves when there is none, at once or later. */
  none(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  readonly #end = (life: RequestLife): void => {
    this.#open -= 1;
    this.#observer.ended(life);
    if (this.#open > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  };
}
