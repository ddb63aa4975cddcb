/** One request on its way and what comes back, for undici to drive: it ends once, whatever the other side does. */
import type { Dispatcher } from 'undici';
import { FlywheelError } from '../errors/flywheel-error.js';
import { brokenConnection } from './connection-failure.js';
import { DialError } from './dial.js';

export interface HttpAnswer {
  readonly kind: 'answer';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Why the body was not read, as in "answered 200 with …"; the text is empty then. */
  readonly unread?: string;
}

export interface HttpFailure {
  readonly kind: 'failure';
  /** May the request have reached the service? */
  readonly maybeSent: boolean;
  /** Is another try of any use? */
  readonly retryable: boolean;
  readonly reason: string;
  readonly hint?: string;
  readonly cause: unknown;
  /** The other side closed without a word. */
  readonly wordless: boolean;
  /** It was sent, and the time for its answer ran out. */
  readonly late?: boolean;
}

/** What one exchange may take. */
export interface Terms {
  /** From dialling to the last byte. */
  readonly timeoutMs: number;
  /** Of the body of the answer. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
  /** That of the transport when the call began: closing ends all calls that have begun by then. */
  readonly era: number;
}

/** Answers before the answer (1xx) that are waited for; a service has no use for more than one. */
const MAX_INTERIM_ANSWERS = 8;

const over = (): FlywheelError => new FlywheelError('ERR_UNAVAILABLE', 'The exchange is over.');

/** The headers of an answer by their names; repeated ones joined. */
function plainHeaders(headers: Readonly<Record<string, string | string[] | undefined>>) {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) plain[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return plain;
}

/** A body that was not asked for in this form is not unpacked: what comes out of it may be of any size. */
function foreignEncoding({ 'content-encoding': encoding }: Readonly<Record<string, string>>) {
  if (encoding === undefined || /^\s*(?:identity)?\s*$/i.test(encoding)) return undefined;
  return `a body with the encoding "${encoding}", which was not requested`;
}

/** Handler of one dispatched request. */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Settled once; rejects with `ERR_INTERRUPTED` only. */
  readonly outcome: Promise<HttpAnswer | HttpFailure>;
  readonly #host: string;
  readonly #terms: Terms;
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  #finish: (outcome: HttpAnswer | HttpFailure | FlywheelError) => void = () => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #sent = false;
  #ended = false;
  #complete = false;
  #interimAnswers = 0;
  #sizeBytes = 0;
  #head: Pick<HttpAnswer, 'status' | 'headers'> | undefined;

  constructor(host: string, terms: Terms) {
    this.#host = host;
    this.#terms = terms;
    this.outcome = new Promise((resolve, reject) => {
      this.#finish = (outcome) => (outcome instanceof FlywheelError ? reject(outcome) : resolve(outcome));
    });
    this.#timer = setTimeout(() => this.#expire(), terms.timeoutMs);
    terms.signal?.addEventListener('abort', this.#interrupt);
    if (terms.signal?.aborted === true) this.#interrupt();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It may have ended while the connection was made; then nothing is sent any more.
    if (this.#ended) controller.abort(over());
    else this.#sent = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) {
      this.#interimAnswers += 1;
      if (this.#interimAnswers > MAX_INTERIM_ANSWERS)
        this.#fail(`${this.#host} sends too many interim responses`);
      return;
    }
    this.#head = { status, headers: plainHeaders(headers) };
    const encoding = foreignEncoding(this.#head.headers);
    if (encoding !== undefined) this.#answer({ unread: encoding });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#sizeBytes += chunk.length;
    if (this.#sizeBytes <= this.#terms.maxBytes) this.#chunks.push(chunk);
    else this.#answer({ unread: `more than ${this.#terms.maxBytes} bytes` });
  }

  onResponseEnd(): void {
    this.#complete = !this.#ended;
    this.#answer({});
  }

  /** All of the answer was read, so that the connection can carry another exchange. */
  get complete(): boolean {
    return this.#complete;
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (error instanceof DialError) {
      this.#end({ kind: 'failure', maybeSent: false, wordless: false, cause: error, ...error.problem });
      return;
    }
    const { maybeSent, wordless, ...broken } = brokenConnection(error, this.#host);
    this.#end({
      kind: 'failure',
      ...broken,
      cause: error,
      maybeSent: this.#sent && maybeSent,
      wordless: wordless && this.#head === undefined,
    });
  }

  #answer({ unread }: { readonly unread?: string }): void {
    if (this.#head === undefined) return;
    const text = unread === undefined ? Buffer.concat(this.#chunks).toString('utf8') : '';
    this.#end({ kind: 'answer', ...this.#head, text, ...(unread === undefined ? {} : { unread }) });
  }

  #fail(reason: string, late = false): void {
    const cause = over();
    const failure = { maybeSent: this.#sent, retryable: true, wordless: false, reason, cause };
    this.#end({ kind: 'failure', ...failure, ...(late ? { late } : {}) });
  }

  #expire(): void {
    const within = `within ${this.#terms.timeoutMs / 1_000} s`;
    const what = this.#head === undefined ? 'no answer from' : 'no complete answer from';
    this.#fail(`${this.#sent ? what : 'no connection to'} ${this.#host} ${within}`, this.#sent);
  }

  readonly #interrupt = (): void => this.#end(new FlywheelError('ERR_INTERRUPTED', 'Interrupted.'));

  #end(outcome: HttpAnswer | HttpFailure | FlywheelError): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#terms.signal?.removeEventListener('abort', this.#interrupt);
    this.#chunks.length = 0;
    this.#finish(outcome);
    // After a complete answer undici takes no notice of this and keeps the connection.
    this.#controller?.abort(over());
  }
}
