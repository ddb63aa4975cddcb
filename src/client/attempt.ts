/** One try of a call: what is sent once, and what its answer, or the lack of one, says about the request. */
import type * as z from 'zod';
import type { Call } from '../contract/call.js';
import { REQUEST_ID_HEADER, RETRY_AFTER_HEADER } from '../contract/headers.js';
import type { Operation } from '../contract/operations.js';
import type { BatchStatus } from '../contract/schemas/batch.js';
import { EXIT } from '../errors/exit-codes.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { Ids } from '../values/ids.js';
import type { Clock } from '../values/time.js';
import { answerContext, decodeProblem, decodeValue, type Reading } from './answer.js';
import type { Finding, Warning } from './check-answer.js';
import { hintForService } from './connection-failure.js';
import type { ProxySettings } from './dial.js';
import type { HttpLog } from './http-log.js';
import { maskValue } from './mask.js';
import { type CallBudget, isRetryable, retryAfterMs, settlesEarlierTries } from './pacing.js';
import type { HttpAnswer, HttpFailure, HttpRequest, Terms, Transport } from './transport.js';

/** Begins the request ids of this client: an answer with another of them answers another request. */
export const OWN_REQUEST_ID = 'flywheel-';

/** What a look at the batch says that a call is about. */
export interface BatchSeen {
  /** `null`: there is none yet. */
  readonly status: BatchStatus | null;
  /** The operation has come to its end, or has nothing to wait for. */
  readonly isOver: boolean;
}

/** What a client is made of. */
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

type Ways = 'transport' | 'clock' | 'random' | 'sleep' | 'requestTimeoutMs' | 'maxWaitMs' | 'totalTimeoutMs';

/** What all calls of a client have in common. */
export interface Sender extends Required<Pick<RemoteServiceDeps, Ways>> {
  readonly log: HttpLog;
  /** Hears what is odd about an answer. */
  readonly warn: (warning: Warning) => void;
}

/** One call, checked and put into a request. */
export interface PreparedCall {
  readonly operation: Pick<Operation, 'id' | 'method'>;
  readonly idempotencyKey: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly request: HttpRequest;
  readonly reading: Reading;
  /** Looks at what the call is about, where that may take longer than a request. */
  readonly look?: (() => Promise<BatchSeen>) | undefined;
  readonly onWaiting?: Call['onWaiting'] | undefined;
}

/** How an answer of success is judged. */
export interface Expected<Value> {
  readonly schema: z.ZodType<Value>;
  readonly check: (value: Value) => Finding;
}

/** A try that brought no value. */
export interface Failed {
  readonly error: FlywheelError;
  readonly retryable: boolean;
  /**
   * `unsent`: the service has not seen it. `maybe-done`: the service may have done it. `under-way`: the service says itself that
   * it is at it, or was when it had to stop. `refused`: it has not done it, and neither did earlier tries. `open`: says nothing.
   */
  readonly meaning: 'unsent' | 'maybe-done' | 'under-way' | 'refused' | 'open';
  readonly waitMs?: number;
  /** It was sent, and the time for its answer ran out. */
  readonly late?: boolean;
}

/** A reason as a sentence; the name of a host that it begins with stays as it is. */
const sentence = (reason: string, host: string): string =>
  `${reason.startsWith(host) ? reason : reason.charAt(0).toUpperCase() + reason.slice(1)}.`;

function failedWithoutAnswer(failure: HttpFailure, { host }: URL): Failed {
  return {
    error: new FlywheelError('ERR_UNAVAILABLE', sentence(failure.reason, host), {
      cause: failure.cause,
      ...(failure.hint === undefined ? hintForService(failure.reason, host) : { hint: failure.hint }),
    }),
    retryable: failure.retryable,
    meaning: failure.maybeSent ? 'maybe-done' : 'unsent',
    late: failure.late === true,
  };
}

const isRedirect = (status: number): boolean => status >= 300 && status < 400;
/** Redirects that say where to send the request instead; 303 says that it was carried out (RFC 9110, section 15.4.4). */
const SENT_ELSEWHERE: ReadonlySet<number> = new Set([301, 302, 307, 308]);

function redirected(answer: HttpAnswer): Failed {
  return {
    error: new FlywheelError(
      'ERR_RESPONSE_INVALID',
      `The service redirects (${answer.status}) to another place. flywheel does not send the request or its key there.`,
      {
        status: answer.status,
        exit: EXIT.refused,
        doubtful: true,
        hint: 'If you trust the new address, set it as the API address.',
      },
    ),
    retryable: false,
    meaning: SENT_ELSEWHERE.has(answer.status) ? 'open' : 'maybe-done',
  };
}

/** An answer that no service of this contract gives is not believed; what one says of itself is. */
function meaningOf(error: FlywheelError, status: number, trusted: boolean): Failed['meaning'] {
  if (!trusted) return status >= 500 ? 'maybe-done' : 'open';
  if (settlesEarlierTries(error)) return 'refused';
  return status >= 500 || status === 409 ? 'under-way' : 'open';
}

/** A service that knows nothing of an operation says so in words of its own framework, if not in those of the contract. */
function notOffered({ request: { method, url } }: PreparedCall, error: FlywheelError): FlywheelError {
  const { foreignCode, ...context } = error.options;
  const { status } = context;
  const isNamed = isFlywheelError(error, 'ERR_NOT_FOUND') || isFlywheelError(error, 'ERR_METHOD_NOT_ALLOWED');
  const isForeign = (status === 404 || status === 405) && foreignCode?.startsWith('ERR_') === false;
  if (!isNamed && !isForeign) return error;
  const message = `This service does not offer ${method} ${url.pathname} (${status}).`;
  const hint = 'Check the API address: `flywheel whoami`';
  return new FlywheelError('ERR_NOT_FOUND', message, { ...context, hint });
}

function failedWithAnswer(call: PreparedCall, answer: HttpAnswer, nowMs: number): Failed {
  if (isRedirect(answer.status)) return redirected(answer);
  const { error: said, trusted } = decodeProblem(answer, call.reading);
  const error = notOffered(call, said);
  const waitMs = retryAfterMs(answer.headers[RETRY_AFTER_HEADER], nowMs);
  const isOfService = trusted && said.options.foreignCode === undefined && isEchoed(call, answer);
  const isDoubtful = answer.status < 500 && !isOfService;
  return {
    error: error.with({
      ...(isDoubtful ? { doubtful: true } : {}),
      ...(waitMs === undefined ? {} : { retryAfterSeconds: Math.ceil(waitMs / 1_000) }),
    }),
    retryable: isRetryable(error, trusted),
    meaning: meaningOf(error, answer.status, trusted),
    ...(waitMs === undefined ? {} : { waitMs }),
  };
}

/** What the next exchange of a call may take. */
const termsOf = (sender: Sender, call: PreparedCall, budget: CallBudget): Terms => ({
  timeoutMs: Math.min(sender.requestTimeoutMs, budget.leftMs),
  maxBytes: call.reading.bounds.maxBytes,
  signal: call.signal,
});

async function exchange(sender: Sender, call: PreparedCall, budget: CallBudget, tryNumber: number) {
  const startedMs = sender.clock.nowMs();
  sender.log.request(call.request, tryNumber);
  const outcome = await sender.transport.exchange(call.request, termsOf(sender, call, budget));
  sender.log.outcome(outcome, sender.clock.nowMs() - startedMs, call.reading.mask);
  return outcome;
}

/** A value that can be believed, and where it came from. */
export type Answered<Value> = {
  readonly value: Value;
  readonly answer: HttpAnswer;
  readonly finding: Finding;
};

/** A proxy may have added an id of its own. */
const requestIds = ({ headers }: HttpAnswer): readonly string[] =>
  (headers[REQUEST_ID_HEADER] ?? '').split(',').map((id) => id.trim());

const isEchoed = ({ request }: PreparedCall, answer: HttpAnswer): boolean =>
  requestIds(answer).includes(request.headers[REQUEST_ID_HEADER] ?? '');

/** Does the answer name another request of this client's making? A proxy may have kept it. */
const isOfAnother = ({ request }: PreparedCall, answer: HttpAnswer): boolean =>
  requestIds(answer).some((id) => id.startsWith(OWN_REQUEST_ID) && id !== request.headers[REQUEST_ID_HEADER]);

/** The value of a successful answer, if it can be believed. */
function readAnswer<Value>(
  sender: Sender,
  call: PreparedCall,
  answer: HttpAnswer,
  { schema, check }: Expected<Value>,
): Answered<Value> | Failed {
  try {
    const value = decodeValue(schema, answer, call.reading);
    const finding = check(value);
    const contradiction = finding.contradiction ?? (isEchoed(call, answer) ? undefined : finding.unproven);
    const { warnings } = finding;
    if (contradiction === undefined && warnings.length === 0) return { value, answer, finding };
    // What is said about the answer quotes it, and must quote it without the key.
    const shown = check(maskValue(value, call.reading.mask));
    if (contradiction !== undefined)
      return contradicted(
        call,
        answer,
        shown.contradiction ?? shown.unproven ?? 'it contains the API key in the wrong place',
      );
    shown.warnings.forEach(sender.warn);
    return { value, answer, finding };
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_RESPONSE_INVALID')) throw error;
    return { error, retryable: answer.unread === undefined, meaning: 'maybe-done' };
  }
}

/** A service that answers something else than it was asked is not asked again: it might act again. */
const contradicted = (call: PreparedCall, answer: HttpAnswer, contradiction: string): Failed => ({
  error: new FlywheelError(
    'ERR_RESPONSE_INVALID',
    `The answer contradicts the request: ${contradiction}.`,
    answerContext(answer, call.reading),
  ),
  retryable: false,
  meaning: 'maybe-done',
});

/** Sends the request once. @throws `ERR_INTERRUPTED` */
export async function tryOnce<Value>(
  sender: Sender,
  call: PreparedCall,
  expected: Expected<Value>,
  budget: CallBudget,
  tryNumber: number,
): Promise<Answered<Value> | Failed> {
  const outcome = await exchange(sender, call, budget, tryNumber);
  if (outcome.kind === 'failure') return failedWithoutAnswer(outcome, call.request.url);
  if (isOfAnother(call, outcome)) return contradicted(call, outcome, 'it answers another request');
  if (outcome.status < 200 || outcome.status >= 300)
    return failedWithAnswer(call, outcome, sender.clock.nowMs());
  return readAnswer(sender, call, outcome, expected);
}
