/** One HTTP exchange with undici: sent or not, answered or not; what an answer means is decided elsewhere. */
import { rootCertificates } from 'node:tls';
import type { Dispatcher } from 'undici';
import { FlywheelError } from '../errors/flywheel-error.js';
import { isLoopback } from './base-address.js';

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
}

export interface ProxySettings {
  readonly httpsProxy?: string;
  readonly noProxy?: string;
}

export interface TransportOptions {
  readonly requestTimeoutMs: number;
  readonly proxy: ProxySettings;
  /** Certificates in PEM that are trusted besides the built-in ones. */
  readonly extraCa?: string;
}

export interface Transport {
  exchange(request: HttpRequest, signal?: AbortSignal): Promise<HttpAnswer | HttpFailure>;
  close(): Promise<void>;
}

/** More than the largest answer to the largest request; a server that sends more is cut off. */
const MAX_RESPONSE_BYTES = 64 * 1_024 * 1_024;
const CONNECT_TIMEOUT_MS = 10_000;

/** Node's and undici's codes for a connection that never came to be. */
const NOT_CONNECTED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
]);

const NOT_TRUSTED = /CERT|ALTNAME|SELF_SIGNED|UNABLE_TO_VERIFY|^ERR_SSL|^EPROTO$/;

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

const codeOf = (error: unknown): string => String(field(error, 'code') ?? field(error, 'name') ?? 'unknown');

/** Connecting to several addresses fails with several errors; the first one speaks for them. */
function rootCause(error: unknown): unknown {
  const inner = error instanceof AggregateError ? error.errors[0] : undefined;
  return inner ?? error;
}

/** What an error of undici or node means for the caller. */
export function describeFailure(thrown: unknown, url: URL): HttpFailure {
  const error = rootCause(thrown);
  const code = codeOf(error);
  const failed = { kind: 'failure', cause: thrown } as const;
  if (NOT_TRUSTED.test(code)) {
    return {
      ...failed,
      maybeSent: false,
      retryable: false,
      reason: `the certificate of ${url.host} is not trusted (${code})`,
      hint: 'If the service has a certificate authority of its own, name its certificate in NODE_EXTRA_CA_CERTS.',
    };
  }
  const atProxy = /proxy response/i.test(String(field(error, 'message')));
  if (NOT_CONNECTED.has(code) || field(error, 'syscall') === 'connect' || atProxy) {
    const where = atProxy ? `the proxy did not connect to ${url.host}` : `${url.host} cannot be reached`;
    return { ...failed, maybeSent: false, retryable: true, reason: `${where} (${code})` };
  }
  return {
    ...failed,
    maybeSent: true,
    retryable: true,
    reason: `the connection to ${url.host} broke (${code})`,
  };
}

async function readText(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    sizeBytes += chunk.length;
    if (sizeBytes > MAX_RESPONSE_BYTES) {
      throw new FlywheelError(
        'ERR_RESPONSE_INVALID',
        `The answer is larger than ${MAX_RESPONSE_BYTES} bytes.`,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function plainHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) plain[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return plain;
}

/** Plain http is for loopback only and must not pass through a proxy, which would see the key. */
async function openDispatcher(base: URL, options: TransportOptions): Promise<Dispatcher> {
  const { Agent, EnvHttpProxyAgent } = await import('undici');
  const tls = options.extraCa === undefined ? {} : { ca: [...rootCertificates, options.extraCa] };
  const settings = {
    connect: { timeout: CONNECT_TIMEOUT_MS, ...tls },
    headersTimeout: options.requestTimeoutMs,
    bodyTimeout: options.requestTimeoutMs,
    maxResponseSize: MAX_RESPONSE_BYTES,
  };
  if (base.protocol === 'http:' || isLoopback(base) || options.proxy.httpsProxy === undefined) {
    return new Agent(settings);
  }
  return new EnvHttpProxyAgent({
    ...settings,
    requestTls: tls,
    // Empty text keeps undici from reading the process environment on its own.
    httpProxy: '',
    httpsProxy: options.proxy.httpsProxy,
    noProxy: options.proxy.noProxy ?? '',
  });
}

/** A pool of connections to one base address; nothing is opened before the first exchange. */
export function createTransport(base: URL, options: TransportOptions): Transport {
  let dispatcher: Promise<Dispatcher> | undefined;
  return {
    async exchange(request, signal) {
      dispatcher ??= openDispatcher(base, options);
      const timeout = AbortSignal.timeout(options.requestTimeoutMs);
      try {
        const response = await (await dispatcher).request({
          origin: request.url.origin,
          path: request.url.pathname + request.url.search,
          method: request.method,
          headers: { ...request.headers },
          body: request.body ?? null,
          signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
        });
        const text = await readText(response.body);
        return { kind: 'answer', status: response.statusCode, headers: plainHeaders(response.headers), text };
      } catch (error) {
        if (signal?.aborted === true) {
          throw new FlywheelError('ERR_INTERRUPTED', 'Interrupted.', { cause: error });
        }
        if (timeout.aborted) {
          const reason = `no answer from ${request.url.host} within ${options.requestTimeoutMs / 1_000} s`;
          return { kind: 'failure', maybeSent: true, retryable: true, reason, cause: error };
        }
        return describeFailure(error, request.url);
      }
    },
    async close() {
      await (await dispatcher)?.close();
      dispatcher = undefined;
    },
  };
}
