/** Dependencies and options of the HTTP server. */

import type { FastifyBaseLogger } from 'fastify';
import { API_KEY_HEADER } from '../contract/headers.js';
import { MAX_BODY_BYTES } from '../contract/limits.js';
import type { OperationId, Rate } from '../contract/operations.js';
import type { RateCounts, ServedEngine } from '../contract/served-engine.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Secret } from '../values/secret.js';
import type { Metrics } from './metrics.js';

export interface HttpServerDeps {
  readonly engine: ServedEngine;
  readonly metrics: Metrics;
  readonly rateCounts: RateCounts;
  readonly log: FastifyBaseLogger;
}

const HTTP_LIMITS = {
  maxBodyBytes: MAX_BODY_BYTES,
  maxHeaderBytes: 16 * 1_024,
  headersTimeoutMs: 10_000,
  /** Time for the whole request to arrive; the answer may take longer. */
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 65_000,
  /** A connection without traffic in either direction is closed, even when an answer is due. */
  idleTimeoutMs: 600_000,
  /** Timeout for a client that does not read its answer. */
  answerTimeoutMs: 120_000,
  maxConnections: 1_024,
  /** Calls of the service that may run at once; further calls are answered 503. */
  maxRunning: 512,
  /** A shutdown keeps idle connections for this time, because a request may be in transit. */
  drainIdleMs: 500,
};
type HttpLimits = Readonly<typeof HTTP_LIMITS>;

export interface HttpServerOptions {
  /** @default `x-service-api-key` */
  readonly apiKeyHeader?: string;
  /** Bearer token for `/metrics`. Without one only loopback may read the metrics. */
  readonly metricsToken?: Secret | null;
  readonly limits?: Partial<HttpLimits>;
  readonly rates?: Partial<Record<OperationId, Rate>>;
  readonly keyRates?: Readonly<Record<string, Partial<Record<OperationId, Rate>>>>;
  /** Accept the API key as `authorization: Bearer …` too. @default false */
  readonly bearer?: boolean;
  readonly version?: string;
}

export type HttpSettings = Required<HttpServerOptions> & { readonly limits: HttpLimits };

/** @throws `ERR_CONFIG_INVALID` for an invalid header name. */
export function httpSettings(options: HttpServerOptions): HttpSettings {
  const apiKeyHeader = (options.apiKeyHeader ?? API_KEY_HEADER).toLowerCase();
  if (!/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(apiKeyHeader))
    throw new FlywheelError(
      'ERR_CONFIG_INVALID',
      `Not a header name: ${JSON.stringify(apiKeyHeader.slice(0, 100))}.`,
    );
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const defaults = { ...{ rates: {}, keyRates: {}, bearer: false, version: '0.0.0' }, metricsToken: null };
  return { ...defaults, ...options, apiKeyHeader, limits };
}
