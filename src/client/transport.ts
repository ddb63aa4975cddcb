/** HTTP exchanges with one base address over undici, on connections of `dial`; what an answer means is decided elsewhere. */
/// <reference path="./undici-client.d.ts" />
import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type { Client } from 'undici';
import { FlywheelError } from '../errors/flywheel-error.js';
import { provesTls, tlsBehindHttp } from './connection-failure.js';
import { DialError, dial, type Route } from './dial.js';
import { Exchange, type HttpAnswer, type HttpFailure, type Terms } from './exchange.js';
import { type ProxySettings, proxyFor } from './proxy.js';

/** What is sent. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface TransportOptions {
  readonly requestTimeoutMs: number;
  readonly proxy: ProxySettings;
  /** Certificates in PEM that are trusted besides the built-in ones. */
  readonly extraCa?: string;
}

export interface Transport {
  /** @throws `ERR_INTERRUPTED` as soon as the signal is aborted, whatever is waited for. */
  exchange(request: HttpRequest, terms: Terms): Promise<HttpAnswer | HttpFailure>;
  /**
   * Is TLS spoken at an http address that answered nothing? What was sent there nobody can have read then. It takes a
   * connection to find out, so ask only where it matters.
   */
  hidesTls(terms: Terms): Promise<boolean>;
  /** Changes when the transport is closed. */
  readonly era: number;
  /** Ends every connection, every dial and every call that has begun, at once. */
  close(): Promise<void>;
}

/** Longest time for a connection to be set up, where the request itself may take longer. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Longest time to find out whether TLS is spoken where plain http was not understood. */
const PROBE_TIMEOUT_MS = 500;

const unreadable = (cause: unknown): FlywheelError =>
  new FlywheelError(
    'ERR_CONFIG_INVALID',
    'The file of NODE_EXTRA_CA_CERTS has no readable PEM certificate.',
    { cause },
  );

/** The built-in authorities and those of the user, read when they are first asked for. @throws `ERR_CONFIG_INVALID`, then too. */
function trusting(extraCa: string | undefined): Route['secureContext'] {
  if (extraCa === undefined) return undefined;
  const orUnreadable = <Value>(read: () => Value): Value => {
    try {
      return read();
    } catch (cause) {
      throw unreadable(cause);
    }
  };
  // OpenSSL takes what holds no certificate for an empty list; this reads the first one.
  orUnreadable(() => new X509Certificate(extraCa));
  let context: SecureContext | undefined;
  return () => {
    context ??= orUnreadable(() => createSecureContext({ ca: [...rootCertificates, extraCa] }));
    return context;
  };
}

/**
 * One connection to the service, dialled when it is needed and kept as long as both sides keep it. It carries one exchange at
 * a time, so that an exchange which ends early can take its connection along, and the dial for it.
 */
class Line {
  readonly #client: Client;
  #dial = new AbortController();

  constructor(UndiciClient: typeof Client, route: Route, dialTimeoutMs: number) {
    this.#client = new UndiciClient(route.base.origin, {
      connect: (_to, callback) => {
        this.#dial = new AbortController();
        dialWithin(route, dialTimeoutMs, this.#dial).then(
          (socket) => callback(null, socket),
          (error: Error) => callback(error, null),
        );
      },
      // An exchange has one time limit for all of it.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  carry(request: HttpRequest, exchange: Exchange): void {
    const { method, url, headers, body = null } = request;
    this.#client.dispatch(
      { method, path: url.pathname + url.search, headers: { ...headers }, body },
      exchange,
    );
  }

  async cut(): Promise<void> {
    this.#dial.abort();
    await this.#client.destroy();
  }
}

/** Dials until it is ready, late, or not wanted any more. @throws DialError */
async function dialWithin(route: Route, timeoutMs: number, controller: AbortController): Promise<Socket> {
  const timer = setTimeout(() => controller.abort(), timeoutMs);
  try {
    return await dial(route, controller.signal);
  } finally {
    clearTimeout(timer);
  }
}

async function speaksTls({ base, secureContext }: Route, { timeoutMs, signal }: Terms): Promise<boolean> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  signal?.addEventListener('abort', abort);
  const https: Route = { base: new URL(`https://${base.host}`), secureContext };
  try {
    (await dialWithin(https, Math.min(timeoutMs, PROBE_TIMEOUT_MS), controller)).destroy();
    return true;
  } catch (error) {
    return error instanceof DialError && provesTls(error.cause);
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

/** What ends a call before anything is sent. */
const CLOSED: HttpFailure = {
  kind: 'failure',
  reason: 'the client is closed',
  retryable: false,
  maybeSent: false,
  wordless: false,
  cause: undefined,
};

class UndiciTransport implements Transport {
  readonly #route: Route;
  readonly #dialTimeoutMs: number;
  readonly #lines = new Set<Line>();
  #idle: Line[] = [];
  #era = 0;
  /** What is spoken at the address, once that is known. */
  #spoken: 'http' | 'tls' | undefined;

  constructor(route: Route, requestTimeoutMs: number) {
    this.#route = route;
    this.#dialTimeoutMs = Math.min(CONNECT_TIMEOUT_MS, requestTimeoutMs);
    if (route.base.protocol === 'https:') this.#spoken = 'http';
  }

  get era(): number {
    return this.#era;
  }

  async exchange(request: HttpRequest, terms: Terms): Promise<HttpAnswer | HttpFailure> {
    if (terms.signal?.aborted === true) throw new FlywheelError('ERR_INTERRUPTED', 'Interrupted.');
    // Not all of undici: that loads node's own copy of it as well, for a quarter of the time of a short command.
    const { default: UndiciClient } = await import('undici/lib/dispatcher/client.js');
    if (terms.era !== this.#era) return CLOSED;
    if (this.#spoken === 'tls') return { ...CLOSED, ...tlsBehindHttp(this.#route.base.host) };
    const line = this.#idle.pop() ?? new Line(UndiciClient, this.#route, this.#dialTimeoutMs);
    this.#lines.add(line);
    const exchange = new Exchange(request.url.host, terms);
    try {
      line.carry(request, exchange);
      const outcome = await exchange.outcome;
      if (outcome.kind === 'answer') this.#spoken = 'http';
      return outcome;
    } finally {
      if (exchange.complete && terms.era === this.#era) this.#idle.push(line);
      else {
        this.#lines.delete(line);
        // It takes care of itself: nothing waits for a connection to be gone.
        void line.cut();
      }
    }
  }

  async hidesTls(terms: Terms): Promise<boolean> {
    if (this.#spoken === undefined && terms.era === this.#era)
      this.#spoken = (await speaksTls(this.#route, terms)) ? 'tls' : 'http';
    return this.#spoken === 'tls';
  }

  async close(): Promise<void> {
    this.#era += 1;
    this.#idle = [];
    const lines = [...this.#lines];
    this.#lines.clear();
    await Promise.all(lines.map((line) => line.cut()));
  }
}

/**
 * Transport to one base address; nothing is opened before the first exchange.
 * @throws `ERR_CONFIG_INVALID` for a proxy or certificates that cannot be.
 */
export const createTransport = (base: URL, options: TransportOptions): Transport =>
  new UndiciTransport(routeTo(base, options), options.requestTimeoutMs);

/**
 * The way to a base address.
 * @throws as {@link createTransport}
 */
export function routeTo(base: URL, { proxy, extraCa }: Omit<TransportOptions, 'requestTimeoutMs'>): Route {
  const route = { base, proxy: proxyFor(base, proxy), secureContext: trusting(extraCa) };
  const isTls = [route.base, route.proxy?.url].some((url) => url?.protocol === 'https:');
  if (isTls) route.secureContext?.();
  return route;
}
