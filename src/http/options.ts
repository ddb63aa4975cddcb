/** What the HTTP server needs and what may be set; every number has its unit and a default. */
import { API_KEY_HEADER } from '../contract/headers.js';
import { MAX_BODY_BYTES } from '../contract/limits.js';
import type { OperationId, Rate, RateLimit } from '../contract/operations.js';
import type { RateCounts } from '../contract/rate-counts.js';
import type { BatchStatus } from '../contract/schemas/batch.js';
import type { Service } from '../contract/service.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Scope } from '../values/schemas.js';
import type { Secret } from '../values/secret.js';

export interface Principal {
  readonly keyId: string;
  /** Which project it is of, for the log. */
  readonly project?: string;
  /** When given, a key without the scope is refused before its body is read; else the service alone refuses it. */
  readonly scopes?: readonly Scope[];
  /** Rates of its own, by operation, in place of the server's. */
  readonly rates?: Partial<Record<OperationId, Rate>>;
}

/** How long something took. */
export type Measured =
  | { readonly what: 'transaction'; readonly kind: 'read' | 'write'; readonly seconds: number }
  | { readonly what: 'chain'; readonly method: string; readonly seconds: number };

/** State of the service, for its metrics. */
export interface ServiceState {
  readonly unfinished: Readonly<Record<string, number>>;
  readonly oldestSeconds: number;
  readonly gaps: number;
  /** `null` where they are not known. */
  readonly wallets:
    | readonly { readonly project: string; readonly wallet: string; readonly lamports: bigint }[]
    | null;
}

export interface MetricsSource {
  /** Passes on the function that takes measurements. */
  attach?(observe: (measured: Measured) => void): void;
  state?(): Promise<ServiceState>;
  batchesByStatus?(): Promise<Readonly<Record<BatchStatus, number>>>;
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface HttpServerDeps {
  readonly service: Service;
  /** In constant time for every key that is not good. @throws `ERR_UNAUTHORIZED` */
  authenticate(credential: Secret | null): Promise<Principal>;
  readonly health: {
    /** Resolves when store and chain answer and can be written. @throws `ERR_STORE_BEHIND` when nothing of the store may be */
    ready(): Promise<void>;
  };
  readonly metrics?: MetricsSource;
  readonly rateCounts: RateCounts;
  readonly log: {
    readonly level: LogLevel;
    readonly stream: { write(line: string): unknown };
    /** Which server this is, in each line, once that is known: the name under which its engine holds leases. */
    server?(): string | undefined;
  };
}

export interface HttpLimits {
  /** @default 4 MiB */
  readonly maxBodyBytes: number;
  /** All header lines of one request together. @default 16 KiB */
  readonly maxHeaderBytes: number;
  /** Time for the header lines to arrive. @default 10 s */
  readonly headersTimeoutMs: number;
  /** Time for the whole request to arrive; answering may take longer. @default 30 s */
  readonly requestTimeoutMs: number;
  /** An idle connection is closed after this time. @default 65 s */
  readonly keepAliveTimeoutMs: number;
  /** A connection without a byte in either direction is closed, even when an answer is due. @default 10 min */
  readonly idleTimeoutMs: number;
  /** The same while an answer is being sent: the client does not read. @default 2 min */
  readonly answerTimeoutMs: number;
  /** More connections are closed at once. @default 1,024 */
  readonly maxConnections: number;
  /** Calls of the service that may run at once; more are answered 503. @default 512 */
  readonly maxRunning: number;
  /** For how long a shutdown keeps idle connections, on which a request may be on its way. @default 500 ms */
  readonly drainIdleMs: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  maxBodyBytes: MAX_BODY_BYTES,
  maxHeaderBytes: 16 * 1_024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 65_000,
  idleTimeoutMs: 600_000,
  answerTimeoutMs: 120_000,
  maxConnections: 1_024,
  maxRunning: 512,
  drainIdleMs: 500,
};

export interface HttpServerOptions {
  /** @default `x-service-api-key` */
  readonly apiKeyHeader?: string;
  /** Path before all others, such as `/burns`. @default none */
  readonly basePath?: string;
  /** Needed for `/metrics`; without one only loopback may read them. */
  readonly metricsToken?: Secret;
  readonly limits?: Partial<HttpLimits>;
  /** In place of the contract's, by operation. */
  readonly rateLimits?: Partial<Record<OperationId, RateLimit>>;
  /** Origins whose pages may read the answers in a browser. @default none */
  readonly corsOrigins?: readonly string[];
  /** Is the API key taken from `authorization: Bearer …` as well? @default false */
  readonly bearer?: boolean;
  /** Shown in OpenAPI. */
  readonly version?: string;
}

/** {@link HttpServerOptions} with its defaults and its values checked. */
export type HttpSettings = Required<Omit<HttpServerOptions, 'limits' | 'metricsToken'>> & {
  readonly limits: HttpLimits;
  readonly metricsToken: Secret | undefined;
};

const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;
const BASE_PATH = /^(\/[A-Za-z0-9._~-]+)*$/;

const refuse = (message: string): never => {
  throw new FlywheelError('ERR_CONFIG_INVALID', message);
};

/** An origin as a browser sends it: scheme, host and port; `*` is none. */
function checkOrigin(text: string): string {
  const isOrigin = /^https?:\/\/[^/\s*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text;
  if (isOrigin) return text;
  return refuse(`Not an origin: ${JSON.stringify(text.slice(0, 100))}; one is https://app.example.com.`);
}

/** @throws `ERR_CONFIG_INVALID` for a header name, path or origin that HTTP does not know. */
export function httpSettings(options: HttpServerOptions): HttpSettings {
  const apiKeyHeader = (options.apiKeyHeader ?? API_KEY_HEADER).toLowerCase();
  if (!HEADER_NAME.test(apiKeyHeader)) refuse(`Not a header name: ${JSON.stringify(apiKeyHeader)}.`);
  const basePath = (options.basePath ?? '').replace(/\/+$/, '');
  if (!BASE_PATH.test(basePath)) refuse(`Not a base path: ${JSON.stringify(basePath)}.`);
  return {
    apiKeyHeader,
    basePath,
    metricsToken: options.metricsToken,
    limits: { ...DEFAULT_HTTP_LIMITS, ...options.limits },
    rateLimits: options.rateLimits ?? {},
    corsOrigins: (options.corsOrigins ?? []).map(checkOrigin),
    bearer: options.bearer ?? false,
    version: options.version ?? '0.0.0',
  };
}
