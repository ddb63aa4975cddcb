/** What the HTTP server needs and what may be set; every number has its unit. */

import type { FastifyBaseLogger } from 'fastify';
import { API_KEY_HEADER } from '../contract/headers.js';
import { MAX_BODY_BYTES } from '../contract/limits.js';
import type { OperationId, Rate } from '../contract/operations.js';
import type { Measured, RateCounts, ServedEngine } from '../contract/served-engine.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Secret } from '../values/secret.js';

export interface HttpServerDeps {
  readonly engine: ServedEngine;
  /** Takes what is to hear how long the engine waits. */
  onMeasured?(hear: (measured: Measured) => void): void;
  readonly rateCounts: RateCounts;
  readonly log: FastifyBaseLogger;
}

const HTTP_LIMITS = {
  maxBodyBytes: MAX_BODY_BYTES,
  maxHeaderBytes: 16 * 1_024,
  headersTimeoutMs: 10_000,
  /** Time for the whole request to arrive; answering may take longer. */
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 65_000,
  /** A connection without a byte in either direction is closed, even when an answer is due. */
  idleTimeoutMs: 600_000,
  /** The same while an answer is sent. */
  answerTimeoutMs: 120_000,
  maxConnections: 1_024,
  /** Calls of the service that may run at once; more are answered 503. */
  maxRunning: 512,
  /** For how long a shutdown keeps idle connections, on which a request may be on its way. */
  drainIdleMs: 500,
};
type HttpLimits = Readonly<typeof HTTP_LIMITS>;

export interface HttpServerOptions {
  /** @default `x-service-api-key` */
  readonly apiKeyHeader?: string;
  /** Path before all others, such as `/burns`. @default none */
  readonly basePath?: string;
  /** Needed for `/metrics`; without one only loopback may read them. */
  readonly metricsToken?: Secret | null;
  readonly limits?: Partial<HttpLimits>;
  /** In place of the contract's. */
  readonly rates?: Partial<Record<OperationId, Rate>>;
  /** Rates that single keys have of their own, by the id of the key. */
  readonly keyRates?: Readonly<Record<string, Partial<Record<OperationId, Rate>>>>;
  /** Origins whose pages may read the answers in a browser. @default none */
  readonly corsOrigins?: readonly string[];
  /** Is the API key taken from `authorization: Bearer …` as well? @default false */
  readonly bearer?: boolean;
  readonly version?: string;
}

/** {@link HttpServerOptions} with its defaults, checked. */
export type HttpSettings = Required<HttpServerOptions> & { readonly limits: HttpLimits };

/** An origin as a browser sends it: scheme, host and port; `*` is none. */
const isOrigin = (text: string): boolean =>
  /^https?:\/\/[^/\s*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text;

/** @throws `ERR_CONFIG_INVALID` for a header name, path or origin that HTTP does not know. */
export function httpSettings(options: HttpServerOptions): HttpSettings {
  const check = (isGood: boolean, what: string, text: string): void => {
    if (isGood) return;
    throw new FlywheelError('ERR_CONFIG_INVALID', `Not ${what}: ${JSON.stringify(text.slice(0, 100))}.`);
  };
  const apiKeyHeader = (options.apiKeyHeader ?? API_KEY_HEADER).toLowerCase();
  const basePath = (options.basePath ?? '').replace(/\/+$/, '');
  const { corsOrigins = [] } = options;
  check(/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(apiKeyHeader), 'a header name', apiKeyHeader);
  check(/^(\/[A-Za-z0-9._~-]+)*$/.test(basePath), 'a base path', basePath);
  for (const origin of corsOrigins)
    check(isOrigin(origin), 'an origin such as https://app.example.com', origin);
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const defaults = { ...{ rates: {}, keyRates: {}, bearer: false, version: '0.0.0' }, metricsToken: null };
  return { ...defaults, ...options, apiKeyHeader, basePath, corsOrigins, limits };
}
