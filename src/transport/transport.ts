/** HTTP exchanges with one base address over undici, on connections of `dial`. */
/// <reference path="./undici-client.d.ts" />
import { X509Certificate } from 'node:crypto';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type { Client, Dispatcher } from 'undici';
import { FlywheelError } from '../errors/flywheel-error.js';
import { brokenConnection } from './connection-failure.js';
import { DialError, dial, type ProxySettings, proxyFor, type Route } from './dial.js';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpAnswer {
  readonly kind: 'answer';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Why the body was not read, to follow "answered 200 with …"; `text` is then empty. */
  readonly unread?: string;
}

export interface HttpFailure {
  readonly kind: 'failure';
  /** Whether the request may have reached the service. */
  readonly maybeSent: boolean;
  readonly retryable: boolean;
  readonly reason: string;
  readonly hint?: string;
  readonly cause: unknown;
  /** Sent, but not answered in time. */
  readonly late?: boolean;
}

export interface Terms {
  /** From dialling to the last byte. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** Retry-After, seconds or HTTP date (RFC 9110, section 10.2.3), as milliseconds from now. */
export function retryAfterMs({ 'retry-after': header = '' }: HttpAnswer['headers'], nowMs: number) {
  const text = header.trim();
  if (/^\d{1,9}(?:\.\d{1,9})?$/.test(text)) return Math.ceil(Number(text) * 1_000);
  const dateMs = Date.parse(text);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}

interface TransportOptions {
  readonly requestTimeoutMs: number;
  readonly proxy: ProxySettings;
  readonly extraCa?: string;
}

export interface Transport {
  /** @throws `ERR_INTERRUPTED` as soon as the signal is aborted. */
  exchange(request: HttpRequest, terms: Terms): Promise<HttpAnswer | HttpFailure>;
  /** Ends every exchange at once. Later calls fail. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** 1xx responses; a service needs at most one. */
const MAX_INTERIM_ANSWERS = 8;

const over = (): FlywheelError => new FlywheelError('ERR_UNAVAILABLE', 'The exchange is over.');
const interrupted = (): FlywheelError => new FlywheelError('ERR_INTERRUPTED', 'Interrupted.');

function plainHeaders(headers: Readonly<Record<string, string | string[] | undefined>>) {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) plain[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return plain;
}

/** Refuses a body compressed without request: it may expand to any size. */
function foreignEncoding({ 'content-encoding': encoding }: Readonly<Record<string, string>>) {
  if (encoding === undefined || /^\s*(?:identity)?\s*$/i.test(encoding)) return undefined;
  return `a body with the encoding "${encoding}", which was not requested`;
}

/** One exchange, driven by undici. It ends exactly once, whatever the peer does. */
class Exchange implements Dispatcher.DispatchHandler {
  /** Rejects with `ERR_INTERRUPTED` only. */
  readonly outcome: Promise<HttpAnswer | HttpFailure>;
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  #finish: (outcome: HttpAnswer | HttpFailure | FlywheelError) => void = () => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #sent = false;
  #ended = false;
  /** The whole answer was read, so the connection can carry another exchange. */
  complete = false;
  #interimAnswers = 0;
  #sizeBytes = 0;
  #head: Pick<HttpAnswer, 'status' | 'headers'> | undefined;

  constructor(
    private readonly host: string,
    private readonly terms: Terms,
  ) {
    this.outcome = new Promise((resolve, reject) => {
      this.#finish = (outcome) => (outcome instanceof FlywheelError ? reject(outcome) : resolve(outcome));
    });
    this.#timer = setTimeout(() => this.#expire(), terms.timeoutMs);
    terms.signal?.addEventListener('abort', this.#interrupt);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // If the exchange ended while connecting, nothing is sent any more.
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
        this.#fail(`${this.host} sends too many interim responses`);
      return;
    }
    this.#head = { status, headers: plainHeaders(headers) };
    const encoding = foreignEncoding(this.#head.headers);
    if (encoding !== undefined) this.#answer({ unread: encoding });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#sizeBytes += chunk.length;
    if (this.#sizeBytes <= this.terms.maxBytes) this.#chunks.push(chunk);
    else this.#answer({ unread: `more than ${this.terms.maxBytes} bytes` });
  }

  onResponseEnd(): void {
    this.complete = !this.#ended;
    this.#answer({});
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const isUndialled = error instanceof DialError;
    const problem = isUndialled ? error.problem : brokenConnection(error, this.host);
    this.#end({ kind: 'failure', ...problem, cause: error, maybeSent: this.#sent && !isUndialled });
  }

  #answer({ unread }: { readonly unread?: string }): void {
    if (this.#head === undefined) return;
    const text = unread === undefined ? Buffer.concat(this.#chunks).toString('utf8') : '';
    this.#end({ kind: 'answer', ...this.#head, text, ...(unread === undefined ? {} : { unread }) });
  }

  #fail(reason: string, late = false): void {
    const cause = over();
    const failure = { maybeSent: this.#sent, retryable: true, reason, cause };
    this.#end({ kind: 'failure', ...failure, ...(late ? { late } : {}) });
  }

  #expire(): void {
    const within = `within ${this.terms.timeoutMs / 1_000} s`;
    const what = this.#head === undefined ? 'no answer from' : 'no complete answer from';
    this.#fail(`${this.#sent ? what : 'no connection to'} ${this.host} ${within}`, this.#sent);
  }

  readonly #interrupt = (): void => this.#end(interrupted());

  #end(outcome: HttpAnswer | HttpFailure | FlywheelError): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.terms.signal?.removeEventListener('abort', this.#interrupt);
    this.#chunks.length = 0;
    this.#finish(outcome);
    // After a complete answer undici ignores the abort and keeps the connection.
    this.#controller?.abort(over());
  }
}

/** Reads the certificates at the first call. @throws `ERR_CONFIG_INVALID` */
function trusting(extraCa: string | undefined): Route['secureContext'] {
  if (extraCa === undefined) return undefined;
  const orUnreadable = <Value>(read: () => Value): Value => {
    try {
      return read();
    } catch (cause) {
      const message = 'The file of NODE_EXTRA_CA_CERTS has no readable PEM certificate.';
      throw new FlywheelError('ERR_CONFIG_INVALID', message, { cause });
    }
  };
  // OpenSSL treats a file without a certificate as an empty list; X509Certificate fails.
  orUnreadable(() => new X509Certificate(extraCa));
  let context: SecureContext | undefined;
  return () => {
    context ??= orUnreadable(() => createSecureContext({ ca: [...rootCertificates, extraCa] }));
    return context;
  };
}

const CLOSED: HttpFailure = {
  kind: 'failure',
  reason: 'the client is closed',
  retryable: false,
  maybeSent: false,
  cause: undefined,
};

/** Opens nothing before the first exchange. @throws `ERR_CONFIG_INVALID` for an invalid proxy or certificate. */
export function createTransport(
  base: URL,
  { requestTimeoutMs, proxy, extraCa }: TransportOptions,
): Transport {
  const route: Route = { base, proxy: proxyFor(base, proxy), secureContext: trusting(extraCa) };
  const isTls = [route.base, route.proxy?.url].some((url) => url?.protocol === 'https:');
  if (isTls) route.secureContext?.();
  const closing = new AbortController();
  const clients = new Set<Client>();
  /** Each carries one exchange at a time: an exchange that ends early closes its connection. */
  const idle: Client[] = [];

  const newClient = (UndiciClient: typeof Client): Client =>
    new UndiciClient(base.origin, {
      connect: (_to, callback) => {
        const late = AbortSignal.timeout(Math.min(CONNECT_TIMEOUT_MS, requestTimeoutMs));
        dial(route, AbortSignal.any([closing.signal, late])).then(
          (socket) => callback(null, socket),
          (error: Error) => callback(error, null),
        );
      },
      // The exchange has its own total timeout.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  return {
    async exchange({ method, url, headers, body = null }, terms) {
      // The undici index also loads Node's own copy, which takes a quarter of the time of a short command.
      const { default: UndiciClient } = await import('undici/lib/dispatcher/client.js');
      if (terms.signal?.aborted === true) throw interrupted();
      if (closing.signal.aborted) return CLOSED;
      const client = idle.pop() ?? newClient(UndiciClient);
      clients.add(client);
      const exchange = new Exchange(url.host, terms);
      const path = url.pathname + url.search;
      client.dispatch({ method, path, headers: { ...headers }, body }, exchange);
      try {
        return await exchange.outcome;
      } finally {
        if (exchange.complete) idle.push(client);
        else {
          clients.delete(client);
          // Not awaited: no caller needs the connection to be gone.
          void client.destroy();
        }
      }
    },
    async close() {
      closing.abort();
      await Promise.all([...clients].map((client) => client.destroy()));
    },
  };
}
