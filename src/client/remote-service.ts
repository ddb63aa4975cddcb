/** The service over HTTP: requests, retries and outcomes (contract, section 2.5). */
import { setTimeout } from 'node:timers/promises';
import type * as z from 'zod';
import type { Call, Reply } from '../contract/call.js';
import { BATCH_COST_HEADER, decodeBatchCost, IDEMPOTENT_REPLAYED_HEADER } from '../contract/headers.js';
import { DEFAULT_MAX_WAIT_SECONDS, DEFAULT_WAIT_SECONDS, REQUEST_TIMEOUT_MS } from '../contract/limits.js';
import { OPERATIONS, type Operation, type OperationId } from '../contract/operations.js';
import { type AnswerOf, eachOperation, type InputOf, type Service } from '../contract/service.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { ProxySettings } from '../transport/dial.js';
import { createTransport, type HttpAnswer, type Transport } from '../transport/transport.js';
import type { Ids } from '../values/ids.js';
import type { Clock } from '../values/time.js';
import { answerContext } from './answer.js';
import { CHECKS, KnownBatches, type Warning } from './check-answer.js';
import { createHttpLog } from './http-log.js';
import { maskValue } from './mask.js';
import { baseAddress, keyHeaderName, prepareCall } from './request.js';
import { isEchoed, type PreparedCall, type Sender, sendUntilAnswered } from './send.js';

export interface RemoteServiceDeps {
  /** http or https, with or without a path. */
  readonly baseUrl: string;
  /** @default `x-service-api-key` */
  readonly apiKeyHeader?: string;
  readonly clock: Clock;
  /** From 0 up to, not including, 1; for the jitter. */
  readonly random: () => number;
  /** Creates the idempotency key of a POST without one. */
  readonly ids: Pick<Ids, 'uuid'>;
  /** Rejects when the signal is aborted. @default a timer */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Total wait between the tries of one call. @default 60,000 */
  readonly maxWaitMs?: number;
  /** One try, from DNS lookup to the last byte. @default 30,000 */
  readonly requestTimeoutMs?: number;
  /** One call, all tries and waits included. @default 600,000 */
  readonly totalTimeoutMs?: number;
  /** From HTTPS_PROXY and NO_PROXY; plain http never uses a proxy. */
  readonly proxy?: ProxySettings;
  /** PEM certificates to trust besides the built-in ones. */
  readonly extraCa?: string;
  /** @default sockets of this machine */
  readonly transport?: Transport;
  /** Receives one line per exchange, without keys and bodies. */
  readonly onHttpLog?: (line: string) => void;
  /** Receives, once per kind, unusual but possibly correct behaviour of the service. */
  readonly onWarning?: (text: string) => void;
  /** @default `flywheel` */
  readonly userAgent?: string;
}

/** What is said of a path, not of something that the operation asks for. */
const NOT_THERE: ReadonlySet<string> = new Set([
  'ERR_NOT_FOUND',
  'ERR_METHOD_NOT_ALLOWED',
  'ERR_RESPONSE_INVALID',
]);

function onceAKind(listener: ((text: string) => void) | undefined): (warning: Warning) => void {
  const seen = new Set<Warning['kind']>();
  return ({ kind, text }) => {
    if (seen.has(kind)) return;
    seen.add(kind);
    listener?.(text);
  };
}

function createSender(deps: RemoteServiceDeps, base: URL, keyHeader: string): Sender {
  const { clock, random, proxy = {}, extraCa, requestTimeoutMs = REQUEST_TIMEOUT_MS } = deps;
  const way = { requestTimeoutMs, proxy, ...(extraCa === undefined ? {} : { extraCa }) };
  return {
    ...{ clock, random, requestTimeoutMs },
    transport: deps.transport ?? createTransport(base, way),
    sleep: deps.sleep ?? ((ms, signal) => setTimeout(ms, undefined, signal && { signal })),
    maxWaitMs: deps.maxWaitMs ?? DEFAULT_MAX_WAIT_SECONDS * 1_000,
    totalTimeoutMs: deps.totalTimeoutMs ?? DEFAULT_WAIT_SECONDS * 1_000,
    log: createHttpLog(deps.onHttpLog, keyHeader),
    warn: onceAKind(deps.onWarning),
  };
}

function replyFrom<Value>(value: Value, answer: HttpAnswer, call: PreparedCall): Reply<Value> {
  const { headers } = answer;
  const { mask } = call;
  const { requestId } = answerContext(answer, mask);
  const cost = decodeBatchCost(headers[BATCH_COST_HEADER] ?? '');
  const serverTimeMs = Date.parse(headers['date'] ?? '');
  return {
    value: maskValue(value, mask),
    meta: {
      replayed: headers[IDEMPOTENT_REPLAYED_HEADER] === 'true',
      ...(requestId !== undefined && isEchoed(call, answer) ? { requestId } : {}),
      ...(cost === undefined ? {} : { cost }),
      ...(Number.isNaN(serverTimeMs) ? {} : { serverTimeMs }),
    },
  };
}

const ANSWERED: {
  readonly [Id in OperationId]: Operation & { readonly response: z.ZodType<AnswerOf<Id>> };
} = OPERATIONS;

/** Polls the batch of a long operation; `undefined` for operations that end with their request. */
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
  const { batchId } = input as InputOf<'executeBatch'>;
  return async () => {
    const { status } = (await service.getBatch({ batchId }, call)).value;
    return { status, isOver: status === 'EXECUTED' || status === 'FAILED' };
  };
}

/** A proxy that has lost its service says that nothing is at a path. @param isAnswered - the operation, in this process. */
function requireOffered(
  error: unknown,
  { request: { method, url } }: PreparedCall,
  isAnswered: boolean,
): never {
  const isMissing = isFlywheelError(error) && (error.status === 404 || error.status === 405);
  if (!isAnswered || !isMissing || !NOT_THERE.has(error.code)) throw error;
  const message = `The service answered ${method} ${url.pathname} before, and says now that it does not offer it (${error.status}).`;
  throw new FlywheelError('ERR_UNAVAILABLE', message, { ...error.options, cause: error });
}

/**
 * Opens nothing before the first call. @throws `ERR_CONFIG_INVALID` for an invalid address, header name, proxy or certificate.
 */
export function createRemoteService(deps: RemoteServiceDeps): Service {
  const base = baseAddress(deps.baseUrl);
  const keyHeader = keyHeaderName(deps.apiKeyHeader);
  const terms = { base, keyHeader, ids: deps.ids, userAgent: deps.userAgent ?? 'flywheel' };
  const sender = createSender(deps, base, keyHeader);
  const batches = new KnownBatches();
  const answered = new Set<OperationId>();
  const service: Service = {
    ...eachOperation(async <Id extends OperationId>(id: Id, input: InputOf<Id>, call: Call) => {
      const operation = ANSWERED[id];
      const prepared: PreparedCall = {
        ...prepareCall(terms, operation, call, input),
        look: lookAt(service, id, input, call),
        onWaiting: call.onWaiting,
        beforeRetry: call.beforeRetry,
      };
      const { value, answer, finding } = await sendUntilAnswered(sender, prepared, {
        schema: operation.response,
        check: (said) => {
          const found = CHECKS[id](input)(said);
          const contradiction = found.contradiction ?? batches.problem(said);
          return contradiction === undefined ? found : { ...found, contradiction };
        },
      }).catch((error: unknown) => requireOffered(error, prepared, answered.has(id)));
      answered.add(id);
      batches.remember(value);
      const { mask } = prepared;
      const reply = replyFrom(value, answer, prepared);
      for (const outcome of finding.outcomes ?? []) call.onElement?.(maskValue(outcome, mask));
      return reply;
    }),
    close: () => sender.transport.close(),
  };
  return service;
}
