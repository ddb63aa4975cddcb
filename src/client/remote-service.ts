/** The service over HTTP: what is sent, how often, and which outcome the caller gets (contract, section 2.5). */
import type * as z from 'zod';
import type { Call, Reply } from '../contract/call.js';
import { decodeBatchCost, decodeRateLimit } from '../contract/header-values.js';
import {
  API_KEY_HEADER,
  BATCH_COST_HEADER,
  checkIdempotencyKey,
  IDEMPOTENCY_KEY_HEADER,
  IDEMPOTENT_REPLAYED_HEADER,
  RATE_LIMIT_HEADER,
  REQUEST_ID_HEADER,
} from '../contract/headers.js';
import { DEFAULT_MAX_WAIT_SECONDS, DEFAULT_WAIT_SECONDS, REQUEST_TIMEOUT_MS } from '../contract/limits.js';
import { OPERATIONS, type Operation, type OperationId, pathParameters } from '../contract/operations.js';
import { DEFAULT_PAGE_ITEMS } from '../contract/schemas/page.js';
import { type AnswerOf, eachOperation, type InputOf, type Service } from '../contract/service.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { jsonText } from '../values/exact-number.js';
import { type Ids, isUuid } from '../values/ids.js';
import type { Clock } from '../values/time.js';
import { answerBounds } from './answer-bounds.js';
import {
  addressBelow,
  baseAddress,
  checkKeyMayTravel,
  keyHeaderName,
  keyHeaderValue,
} from './base-address.js';
import { CHECKS, type Finding, type Warning } from './check-answer.js';
import { answerContext, type Reading } from './decode-response.js';
import type { HttpAnswer } from './exchange.js';
import { createHttpLog } from './http-log.js';
import { KnownBatches } from './known-batches.js';
import { createMask, maskValue } from './mask.js';
import type { Expected, PreparedCall, Sender } from './one-try.js';
import { Pacer } from './pacing.js';
import type { ProxySettings } from './proxy.js';
import { sendUntilAnswered } from './send.js';
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

const REQUEST_ID = /^[A-Za-z0-9._~:+/=@-]{1,128}$/;

function replyFrom<Value>(value: Value, answer: HttpAnswer, reading: Reading): Reply<Value> {
  const { headers } = answer;
  const { requestId } = answerContext(answer, reading);
  const rateLimit = decodeRateLimit(reading.mask(headers[RATE_LIMIT_HEADER] ?? ''));
  const cost = decodeBatchCost(headers[BATCH_COST_HEADER] ?? '');
  const serverTimeMs = Date.parse(headers['date'] ?? '');
  return {
    value: maskValue(value, reading.mask),
    meta: {
      replayed: headers[IDEMPOTENT_REPLAYED_HEADER] === 'true',
      ...(requestId === undefined ? {} : { requestId }),
      ...(rateLimit === undefined ? {} : { rateLimit }),
      ...(cost === undefined ? {} : { cost }),
      ...(Number.isNaN(serverTimeMs) ? {} : { serverTimeMs }),
    },
  };
}

/** What of a call becomes part of the request. */
interface Input {
  readonly path?: string;
  readonly query?: object;
  readonly body?: unknown;
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
class RequestWriter {
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
  prepare(operation: Operation, call: Call, input: Input = {}): Omit<PreparedCall, 'era'> {
    const idempotencyKey =
      operation.idempotencyKey === 'none'
        ? undefined
        : checkIdempotencyKey(call.idempotencyKey ?? this.#deps.ids.uuid(), operation.idempotencyKey);
    const headers: Record<string, string> = {
      accept: 'application/json',
      // What is packed may unpack to any size.
      'accept-encoding': 'identity',
      'user-agent': this.#deps.userAgent ?? 'flywheel',
      ...(input.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { [IDEMPOTENCY_KEY_HEADER]: idempotencyKey }),
    };
    if (call.requestId !== undefined && REQUEST_ID.test(call.requestId)) {
      headers[REQUEST_ID_HEADER] = call.requestId;
    }
    if (call.credential !== null) {
      checkKeyMayTravel(this.#base);
      headers[this.#keyHeader] = keyHeaderValue(call.credential.reveal());
    }
    const body = input.body === undefined ? undefined : jsonText(input.body);
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

/** The path with its parameters. @throws `ERR_BATCH_NOT_FOUND` for what is no id, so that it never becomes part of a path. */
function filledPath(operation: Operation, values: Readonly<Record<string, unknown>>): string {
  return pathParameters(operation).reduce((path, name) => {
    const id = String(values[name]);
    if (isUuid(id)) return path.replace(`{${name}}`, id);
    throw new FlywheelError('ERR_BATCH_NOT_FOUND', `There is no batch ${id.slice(0, 64)}.`);
  }, operation.path);
}

/** Where each part of an operation's input travels: in the path, the query of a GET, the body of a POST. */
function placeInput(operation: Operation, given: InputOf<OperationId>): Input {
  // By the table and not by what is there: what is no input at all is for the service to refuse.
  if (operation.request === null) return {};
  const fields: Readonly<Record<string, unknown>> = { ...given };
  const inPath = pathParameters(operation);
  const path = filledPath(operation, fields);
  const rest = Object.fromEntries(Object.entries(fields).filter(([name]) => !inPath.includes(name)));
  if (operation.method === 'POST') return { path, body: inPath.length === 0 ? given : rest };
  if (!operation.paged) return { path, query: rest };
  const { limit } = { limit: undefined, ...given };
  return { path, query: rest, items: limit ?? DEFAULT_PAGE_ITEMS };
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

function createSender(deps: RemoteServiceDeps, writer: RequestWriter): Sender {
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

/** Every operation with the type of its answer. */
const ANSWERED: {
  readonly [Id in OperationId]: Operation & { readonly response: z.ZodType<AnswerOf<Id>> };
} = OPERATIONS;

/** How to look at the batch of an operation that may take longer than its request; of others there is nothing to look at. */
function lookAt(
  service: Service,
  id: OperationId,
  input: InputOf<OperationId>,
  { credential, signal }: Call,
): PreparedCall['look'] {
  const call: Call = { credential, ...(signal === undefined ? {} : { signal }) };
  if (id === 'initBatch')
    return async () => {
      const { value } = await service.currentBatch(call);
      const status = value?.status ?? null;
      return { status, isOver: status !== 'AVAILABLE_TO_QUEUE' };
    };
  if (id !== 'executeBatch') return undefined;
  const { batchId } = { batchId: '', ...input };
  return async () => {
    const { status } = (await service.getBatch({ batchId }, call)).value;
    return { status, isOver: status === 'EXECUTED' || status === 'FAILED' };
  };
}

/**
 * The service at a base address. Nothing is opened before the first call.
 * @throws `ERR_CONFIG_INVALID` for an address, a header name, a proxy or certificates that cannot be.
 */
export function createRemoteService(deps: RemoteServiceDeps): Service {
  const writer = new RequestWriter(deps);
  const sender = createSender(deps, writer);
  const batches = new KnownBatches();
  const checkOf =
    <Id extends OperationId>(id: Id, input: InputOf<Id>) =>
    (answer: AnswerOf<Id>): Finding => {
      const finding = CHECKS[id](input)(answer);
      const contradiction = finding.contradiction ?? batches.problem(id, answer);
      return contradiction === undefined ? finding : { ...finding, contradiction };
    };

  const service: Service = {
    ...eachOperation(async <Id extends OperationId>(id: Id, input: InputOf<Id>, call: Call) => {
      const operation = ANSWERED[id];
      const written = writer.prepare(operation, call, placeInput(operation, input));
      const prepared = {
        ...written,
        look: lookAt(service, id, input, call),
        onWaiting: call.onWaiting,
        era: sender.transport.era,
      };
      const expected: Expected<AnswerOf<Id>> = { schema: operation.response, check: checkOf(id, input) };
      const { value, answer, finding } = await sendUntilAnswered(sender, prepared, expected);
      batches.remember(id, value);
      const reply = replyFrom(value, answer, prepared.reading);
      const { mask } = prepared.reading;
      for (const outcome of finding.outcomes ?? []) call.onElement?.(maskValue(outcome, mask));
      return reply;
    }),
    close: () => sender.transport.close(),
  };
  return service;
}
