/** What a client is made of, and how a call becomes a request: address, headers, key, body; all of it checked before anything is sent. */
import type { Call } from '../contract/call.js';
import {
  API_KEY_HEADER,
  checkIdempotencyKey,
  IDEMPOTENCY_KEY_HEADER,
  REQUEST_ID_HEADER,
} from '../contract/headers.js';
import { DEFAULT_MAX_WAIT_SECONDS, DEFAULT_WAIT_SECONDS, REQUEST_TIMEOUT_MS } from '../contract/limits.js';
import type { Operation } from '../contract/operations.js';
import { jsonText } from '../values/exact-number.js';
import type { Ids } from '../values/ids.js';
import type { Clock } from '../values/time.js';
import { answerBounds } from './answer-bounds.js';
import type { PreparedCall, Sender } from './attempt.js';
import {
  addressBelow,
  baseAddress,
  checkKeyMayTravel,
  keyHeaderName,
  keyHeaderValue,
} from './base-address.js';
import type { Warning } from './check-answer.js';
import { createHttpLog } from './http-log.js';
import { createMask } from './mask.js';
import { Pacer } from './pacing.js';
import type { ProxySettings } from './proxy.js';
import { createTransport, type Transport } from './transport.js';

export interface RemoteServiceDeps {
  /** http or https, with or without a path. */
  readonly baseUrl: string;
  /** @default `x-service-api-key` */
  readonly apiKeyHeader?: string;
  readonly clock: Clock;
  /** From 0 up to, not including, 1; for the jitter. */
  readonly random: () => number;
  /** Makes the idempotency key of a POST that comes without one. */
  readonly ids: Pick<Ids, 'uuid'>;
  /** Waits; rejects when the signal is aborted. @default a timer */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** All waiting of one call between its tries. @default 60,000 */
  readonly maxWaitMs?: number;
  /** One try of a call, from looking up the name to the last byte. @default 30,000 */
  readonly requestTimeoutMs?: number;
  /** All of one call together: its tries and the waits between them. @default 600,000 */
  readonly totalTimeoutMs?: number;
  /** From HTTPS_PROXY and NO_PROXY; plain http never passes through a proxy. */
  readonly proxy?: ProxySettings;
  /** Certificates in PEM that are trusted besides the built-in ones. */
  readonly extraCa?: string;
  /** Carries the exchanges. @default sockets of this machine */
  readonly transport?: Transport;
  /** Hears of every exchange, one line each, without keys and bodies. */
  readonly onHttpLog?: (line: string) => void;
  /** Hears, once a kind, what is odd about the service and may still be right. */
  readonly onWarning?: (text: string) => void;
  /** @default `flywheel` */
  readonly userAgent?: string;
}

/** Begins the request ids of this client: an answer with another of them answers another request. */
export const OWN_REQUEST_ID = 'flywheel-';
const REQUEST_ID = /^[A-Za-z0-9._~:+/=@-]{1,128}$/;

/** What is asked for, whether or not the contract knows it. */
export type Asked = PreparedCall['operation'] & Pick<Operation, 'path' | 'idempotencyKey'>;

/** What of a call becomes part of the request. */
export interface Input {
  readonly path?: string;
  readonly query?: object;
  readonly body?: unknown;
  /** A body that is sent as it is. */
  readonly text?: string;
  /** Beside those that every request has. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Items of the page that is asked for. */
  readonly items?: number;
}

function withQuery(url: URL, query: object = {}): URL {
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

/** Puts calls into HTTP requests. */
export class RequestWriter {
  readonly #base: URL;
  readonly #keyHeader: string;
  readonly #deps: RemoteServiceDeps;

  constructor(deps: RemoteServiceDeps) {
    this.#deps = deps;
    this.#base = baseAddress(deps.baseUrl);
    this.#keyHeader = keyHeaderName(deps.apiKeyHeader ?? API_KEY_HEADER);
  }

  get base(): URL {
    return this.#base;
  }

  get keyHeader(): string {
    return this.#keyHeader;
  }

  /** Everything is checked here, before the first byte is sent. */
  prepare(operation: Asked, call: Call, input: Input = {}): Omit<PreparedCall, 'era'> {
    const idempotencyKey =
      operation.idempotencyKey === 'none'
        ? undefined
        : checkIdempotencyKey(call.idempotencyKey ?? this.#deps.ids.uuid(), operation.idempotencyKey);
    const body = input.text ?? (input.body === undefined ? undefined : jsonText(input.body));
    const headers: Record<string, string> = {
      ...input.headers,
      accept: 'application/json',
      // What is packed may unpack to any size.
      'accept-encoding': 'identity',
      'user-agent': this.#deps.userAgent ?? 'flywheel',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { [IDEMPOTENCY_KEY_HEADER]: idempotencyKey }),
    };
    // Known here before there is an answer, so that a call whose answer is lost can be found in the logs of the service.
    const isOwn = call.requestId !== undefined && REQUEST_ID.test(call.requestId);
    headers[REQUEST_ID_HEADER] = isOwn ? String(call.requestId) : OWN_REQUEST_ID + this.#deps.ids.uuid();
    if (call.credential !== null) {
      checkKeyMayTravel(this.#base);
      headers[this.#keyHeader] = keyHeaderValue(call.credential.reveal());
    }
    return {
      operation,
      idempotencyKey,
      signal: call.signal,
      reading: {
        bounds: answerBounds({ operation: operation.id, body, items: input.items }),
        mask: createMask(call.credential?.reveal()),
      },
      request: {
        method: operation.method,
        url: withQuery(addressBelow(this.#base, input.path ?? operation.path), input.query),
        headers,
        ...(body === undefined ? {} : { body }),
      },
    };
  }
}

const sleepWithTimer = async (ms: number, signal?: AbortSignal): Promise<void> => {
  const { setTimeout } = await import('node:timers/promises');
  await setTimeout(ms, undefined, signal === undefined ? {} : { signal });
};

/** Passes on the first warning of each kind. */
function onceAKind(listener: ((text: string) => void) | undefined): (warning: Warning) => void {
  const seen = new Set<Warning['kind']>();
  return ({ kind, text }) => {
    if (seen.has(kind)) return;
    seen.add(kind);
    listener?.(text);
  };
}

export function createSender(deps: RemoteServiceDeps, writer: RequestWriter): Sender {
  const requestTimeoutMs = deps.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  return {
    transport:
      deps.transport ??
      createTransport(writer.base, {
        requestTimeoutMs,
        proxy: deps.proxy ?? {},
        ...(deps.extraCa === undefined ? {} : { extraCa: deps.extraCa }),
      }),
    pacer: new Pacer(deps.clock),
    clock: deps.clock,
    random: deps.random,
    sleep: deps.sleep ?? sleepWithTimer,
    requestTimeoutMs,
    maxWaitMs: deps.maxWaitMs ?? DEFAULT_MAX_WAIT_SECONDS * 1_000,
    totalTimeoutMs: deps.totalTimeoutMs ?? DEFAULT_WAIT_SECONDS * 1_000,
    log: createHttpLog(deps.onHttpLog, writer.keyHeader),
    warn: onceAKind(deps.onWarning),
  };
}
