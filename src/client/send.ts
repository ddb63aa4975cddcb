/**
 * Sends one call until a trusted answer arrives or another try is useless.
 *
 * Once a POST may have reached the service, only an answer to that request proves its outcome. Without one the outcome is
 * unknown, and the error says so.
 */
import type * as z from 'zod';
import type { Call } from '../contract/call.js';
import { REQUEST_ID_HEADER } from '../contract/headers.js';
import { MAX_TRIES } from '../contract/limits.js';
import type { Operation } from '../contract/operations.js';
import type { BatchStatus } from '../contract/schemas/batch.js';
import { ERRORS, type ErrorCode } from '../errors/codes.js';
import { EXIT } from '../errors/exit-codes.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import { hintForService, sentenceOf } from '../transport/connection-failure.js';
import {
  type HttpAnswer,
  type HttpFailure,
  type HttpRequest,
  retryAfterMs,
  type Transport,
} from '../transport/transport.js';
import type { Clock } from '../values/time.js';
import { answerContext, decodeProblem, decodeValue, MAX_ANSWER_BYTES } from './answer.js';
import type { Finding, Warning } from './check-answer.js';
import type { HttpLog } from './http-log.js';
import { type Mask, maskError, maskValue } from './mask.js';

/** Prefix of the request ids of this client. An answer with a different id of this prefix belongs to another request. */
export const OWN_REQUEST_ID = 'flywheel-';

export interface Sender {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: () => number;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly requestTimeoutMs: number;
  readonly maxWaitMs: number;
  readonly totalTimeoutMs: number;
  readonly log: HttpLog;
  readonly warn: (warning: Warning) => void;
}

export interface PreparedCall {
  readonly operation: Pick<Operation, 'id' | 'method'>;
  readonly idempotencyKey: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly request: HttpRequest;
  /** Of the API key. */
  readonly mask: Mask;
  /** Polls the batch of a call that may take longer than a request. */
  readonly look?:
    | (() => Promise<{
        /** `null`: no batch exists yet. */
        readonly status: BatchStatus | null;
        /** Waiting is pointless. */
        readonly isOver: boolean;
      }>)
    | undefined;
  readonly onWaiting?: Call['onWaiting'] | undefined;
  readonly beforeRetry?: Call['beforeRetry'] | undefined;
}

interface Expected<Value> {
  readonly schema: z.ZodType<Value>;
  readonly check: (value: Value) => Finding;
}

interface Answered<Value> {
  readonly value: Value;
  readonly answer: HttpAnswer;
  readonly finding: Finding;
}

interface Failed {
  readonly error: FlywheelError;
  readonly retryable: boolean;
  /**
   * `unsent`: the service has not seen the request. `maybe-done`: the service may have executed it. `under-way`: the service
   * says that it is executing the request, or was when it stopped. `refused`: neither this try nor an earlier one had an
   * effect. `open`: no information.
   */
  readonly meaning: 'unsent' | 'maybe-done' | 'under-way' | 'refused' | 'open';
  readonly waitMs?: number | undefined;
  /** Sent, but not answered in time. */
  readonly late?: boolean;
}

/** Upper bound of the jittered wait before the second try; doubles with each try (contract, section 2.5). */
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 8_000;

const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

/** `retry: 'with-key'` always allows a retry: every POST with an effect carries a key, and the others are idempotent. */
function isRetryable({ code, options, status = 0 }: FlywheelError, trusted: boolean): boolean {
  if (trusted && options.foreignCode === undefined) return ERRORS[code as ErrorCode].retry !== 'never';
  return RETRYABLE_STATUSES.has(status);
}

/** Remaining time of one call, and the part of it for waits between tries. */
interface Budget {
  readonly endMs: number;
  waitsMs: number;
}

const leftMs = ({ clock }: Sender, { endMs }: Budget): number => Math.max(0, endMs - clock.nowMs());

function failedWithoutAnswer(failure: HttpFailure, { host }: URL): Failed {
  const { reason, cause, hint } = failure;
  return {
    error: new FlywheelError('ERR_UNAVAILABLE', `${sentenceOf(reason, host)}.`, {
      ...{ cause, ...(hint === undefined ? hintForService(reason, host) : { hint }) },
    }),
    retryable: failure.retryable,
    meaning: failure.maybeSent ? 'maybe-done' : 'unsent',
    late: failure.late === true,
  };
}

/** 303 is excluded: it says that the request was executed (RFC 9110, section 15.4.4). */
const SENT_ELSEWHERE: ReadonlySet<number> = new Set([301, 302, 307, 308]);

const redirected = ({ status }: HttpAnswer): Failed => ({
  error: new FlywheelError(
    'ERR_RESPONSE_INVALID',
    `The service redirects (${status}) to another place. flywheel does not send the request or its key there.`,
    {
      ...{ status, exit: EXIT.refused, doubtful: true },
      hint: 'If you trust the new address, set it as the API address.',
    },
  ),
  retryable: false,
  meaning: SENT_ELSEWHERE.has(status) ? 'open' : 'maybe-done',
});

function meaningOf({ options }: FlywheelError, status: number, trusted: boolean): Failed['meaning'] {
  if (!trusted) return status >= 500 ? 'maybe-done' : 'open';
  // Only an unused key proves something about earlier tries too.
  if (options.keyUnused === true) return 'refused';
  return status >= 500 || status === 409 ? 'under-way' : 'open';
}

/** The code may come from the service's web framework. */
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
  const { status } = answer;
  if (status >= 300 && status < 400) return redirected(answer);
  const { error: said, trusted } = decodeProblem(answer, call.mask);
  const error = notOffered(call, said);
  const waitMs = retryAfterMs(answer.headers, nowMs);
  const isOfService = trusted && said.options.foreignCode === undefined && isEchoed(call, answer);
  return {
    error: error.with({
      ...(status < 500 && !isOfService ? { doubtful: true } : {}),
      ...(waitMs === undefined ? {} : { retryAfterSeconds: Math.ceil(waitMs / 1_000) }),
    }),
    ...{ retryable: isRetryable(error, trusted), meaning: meaningOf(error, status, trusted), waitMs },
  };
}

/** A proxy may have added its own id. */
const requestIds = ({ headers }: HttpAnswer): readonly string[] =>
  (headers[REQUEST_ID_HEADER] ?? '').split(',').map((id) => id.trim());

export const isEchoed = ({ request }: PreparedCall, answer: HttpAnswer): boolean =>
  requestIds(answer).includes(request.headers[REQUEST_ID_HEADER] ?? '');

/** A cache may answer with the result of another request of this client. */
const isOfAnother = ({ request }: PreparedCall, answer: HttpAnswer): boolean =>
  requestIds(answer).some((id) => id.startsWith(OWN_REQUEST_ID) && id !== request.headers[REQUEST_ID_HEADER]);

function readAnswer<Value>(
  { warn }: Sender,
  call: PreparedCall,
  answer: HttpAnswer,
  { schema, check }: Expected<Value>,
): Answered<Value> | Failed {
  try {
    const value = decodeValue(schema, answer, call.mask);
    const finding = check(value);
    const contradiction = finding.contradiction ?? (isEchoed(call, answer) ? undefined : finding.unproven);
    if (contradiction === undefined && finding.warnings.length === 0) return { value, answer, finding };
    // Messages quote the answer, and must not quote the API key.
    const shown = check(maskValue(value, call.mask));
    const quoted = shown.contradiction ?? shown.unproven ?? 'it contains the API key in the wrong place';
    if (contradiction !== undefined) return contradicted(call, answer, quoted);
    shown.warnings.forEach(warn);
    return { value, answer, finding };
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_RESPONSE_INVALID')) throw error;
    return { error, retryable: answer.unread === undefined, meaning: 'maybe-done' };
  }
}

/** Not retryable: a service that contradicts the request might act twice. */
const contradicted = ({ mask }: PreparedCall, answer: HttpAnswer, contradiction: string): Failed => ({
  error: new FlywheelError(
    'ERR_RESPONSE_INVALID',
    `The answer contradicts the request: ${contradiction}.`,
    answerContext(answer, mask),
  ),
  ...{ retryable: false, meaning: 'maybe-done' },
});

async function tryOnce<Value>(
  sender: Sender,
  call: PreparedCall,
  expected: Expected<Value>,
  { mostMs, tryNumber }: { readonly mostMs: number; readonly tryNumber: number },
): Promise<Answered<Value> | Failed> {
  const { clock, log, transport } = sender;
  const { request, mask, signal } = call;
  const startedMs = clock.nowMs();
  log.request(request, tryNumber);
  const timeoutMs = Math.min(sender.requestTimeoutMs, mostMs);
  const outcome = await transport.exchange(request, { timeoutMs, maxBytes: MAX_ANSWER_BYTES, signal });
  log.outcome(outcome, clock.nowMs() - startedMs, mask);
  if (outcome.kind === 'failure') return failedWithoutAnswer(outcome, request.url);
  if (isOfAnother(call, outcome)) return contradicted(call, outcome, 'it answers another request');
  if (outcome.status < 200 || outcome.status >= 300) return failedWithAnswer(call, outcome, clock.nowMs());
  return readAnswer(sender, call, outcome, expected);
}

interface Tried {
  maybeDone: boolean;
  /** A refusal of a later try says nothing about an earlier one that was under way. */
  underWay: boolean;
  /** Refused in an answer that may not be of the service. */
  isDoubtful: boolean;
  unsent: boolean;
}

const UNTRIED: Tried = { maybeDone: false, underWay: false, isDoubtful: false, unsent: true };

function addTo(tried: Tried, { meaning, error }: Failed): void {
  if (meaning === 'refused') Object.assign(tried, UNTRIED);
  if (meaning === 'maybe-done') tried.maybeDone = true;
  if (meaning === 'under-way') tried.underWay = true;
  if (error.options.doubtful === true) tried.isDoubtful = true;
  if (meaning !== 'unsent') tried.unsent = false;
}

/** 409 says that the same request is still running. Without a status, this client refuses a further try. */
const isRefusal = ({ status = 400 }: FlywheelError): boolean =>
  status >= 400 && status < 500 && status !== 409;

/** A look-up that fails between two tries says nothing of the request. @param last - of the last try */
async function lookAgain({ beforeRetry }: PreparedCall, tried: Tried, last?: FlywheelError): Promise<void> {
  if (last === undefined) return;
  const unseen = await beforeRetry?.();
  if (unseen === undefined) return;
  if (tried.unsent) throw last;
  tried.maybeDone = true;
  throw unseen;
}

function finalError(
  { idempotencyKey, operation, request }: PreparedCall,
  error: FlywheelError,
  { maybeDone, underWay, isDoubtful, unsent }: Tried,
): FlywheelError {
  const key = idempotencyKey === undefined ? {} : { idempotencyKey };
  if (unsent && error.code === 'ERR_UNAVAILABLE')
    return new FlywheelError(error.code, `${error.message} Nothing was sent.`, {
      ...{ ...error.options, ...key, unsent: true },
    });
  const isOpen =
    maybeDone || (underWay && isRefusal(error)) || (isDoubtful && error.options.doubtful !== true);
  const isSaid = error.code === 'ERR_OUTCOME_UNKNOWN';
  if (!isOpen || isSaid || operation.method === 'GET') return error.with(key);
  const { requestId = request.headers[REQUEST_ID_HEADER], status } = error.options;
  return new FlywheelError(
    'ERR_OUTCOME_UNKNOWN',
    `The request may have been executed, but no answer confirms it. Last problem: ${error.message.replace(/ Nothing was sent\.$/, '')}`,
    {
      ...{ ...key, cause: error },
      ...(idempotencyKey === undefined ? { hint: 'Check the batch before you try again.' } : {}),
      ...(requestId === undefined ? {} : { requestId }),
      ...(status === undefined ? {} : { status }),
    },
  );
}

const gaveUp = ({ totalTimeoutMs }: Sender, { code, message, options }: FlywheelError): FlywheelError =>
  new FlywheelError(code, `${message} The total time limit of ${totalTimeoutMs / 1_000} s is over.`, {
    ...{ ...options, hint: options.hint ?? 'Allow more time with --wait.' },
  });

/** @returns false when no waiting time is left. @throws the error of the last try when the total time is over. */
async function waitForRetry(
  sender: Sender,
  { signal }: PreparedCall,
  budget: Budget,
  { error, waitMs, tryNumber }: Failed & { readonly tryNumber: number },
): Promise<boolean> {
  // Full jitter: from 0 to the bound.
  const bound = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (tryNumber - 1));
  const left = leftMs(sender, budget);
  const most = Math.min(budget.waitsMs, left);
  const ms = waitMs ?? Math.min(Math.floor(sender.random() * bound), most);
  if (left <= ms) throw gaveUp(sender, error);
  if (most <= 0 || ms > most) return false;
  budget.waitsMs -= ms;
  sender.log.wait(ms, error.wireCode);
  await sender.sleep(ms, signal);
  return true;
}

const LOOK_MS = 2_000;
/** After this time the request is sent again, whatever the batch status is: the work may have stopped. */
const MAX_BETWEEN_MS = 30_000;

const isUnderWay = ({ error: { code }, meaning, late }: Failed): boolean =>
  late === true ||
  (meaning === 'under-way' && (code === 'ERR_DUPLICATE_IDEMPOTENCY_KEY' || code === 'ERR_BATCH_IN_PROGRESS'));

/**
 * Polls the batch until it is worth sending the request again: init and execute are limited to ten requests a minute.
 * @param waitedMs - wait so far, for the same call.
 * @returns the new sum; `null` when the total time is over.
 */
async function waitWhileUnderWay(
  sender: Sender,
  { look, onWaiting, signal }: PreparedCall,
  budget: Budget,
  waitedMs: number,
): Promise<number | null> {
  for (let now = waitedMs; ; ) {
    if (Math.min(leftMs(sender, budget), sender.totalTimeoutMs - now) <= LOOK_MS) return null;
    sender.log.wait(LOOK_MS, 'under way');
    await sender.sleep(LOOK_MS, signal);
    now += LOOK_MS;
    const seen = await look?.().catch((error: unknown) => {
      if (signal?.aborted === true) throw error;
      // The next poll may succeed.
      return undefined;
    });
    if (seen !== undefined) onWaiting?.({ status: seen.status });
    if (seen?.isOver === true || now >= waitedMs + MAX_BETWEEN_MS) return now;
  }
}

async function tryUntilAnswered<Value>(
  sender: Sender,
  call: PreparedCall,
  expected: Expected<Value>,
  tried: Tried,
): Promise<Answered<Value>> {
  const { clock, totalTimeoutMs, maxWaitMs } = sender;
  const budget: Budget = { endMs: clock.nowMs() + totalTimeoutMs, waitsMs: maxWaitMs };
  let waitedMs: number | null = 0;
  let last: FlywheelError | undefined;
  for (let tryNumber = 1; ; tryNumber += 1) {
    await lookAgain(call, tried, last);
    const mostMs = leftMs(sender, budget);
    if (mostMs <= 0)
      throw gaveUp(sender, new FlywheelError('ERR_UNAVAILABLE', 'No time is left for a request.'));
    const result = await tryOnce(sender, call, expected, { mostMs, tryNumber });
    if ('value' in result) return result;
    last = result.error;
    addTo(tried, result);
    if (isUnderWay(result) && call.look !== undefined) {
      waitedMs = await waitWhileUnderWay(sender, call, budget, waitedMs);
      if (waitedMs === null) throw gaveUp(sender, result.error);
      // Waiting for running work is not a failed try.
      tryNumber = 0;
      continue;
    }
    const again = result.retryable && tryNumber < MAX_TRIES;
    if (!again || !(await waitForRetry(sender, call, budget, { ...result, tryNumber }))) throw result.error;
  }
}

/**
 * @throws the error of the service; `ERR_UNAVAILABLE` when the service was never reached; `ERR_OUTCOME_UNKNOWN` when a POST may
 * have been executed and no answer says so. Every error includes the idempotency key and never the API key.
 */
export async function sendUntilAnswered<Value>(
  sender: Sender,
  call: PreparedCall,
  expected: Expected<Value>,
): Promise<Answered<Value>> {
  const tried: Tried = { ...UNTRIED };
  const { signal, idempotencyKey, mask } = call;
  try {
    return await tryUntilAnswered(sender, call, expected, tried);
  } catch (cause) {
    const key = idempotencyKey === undefined ? {} : { idempotencyKey };
    if (signal?.aborted === true)
      throw maskError(new FlywheelError('ERR_INTERRUPTED', 'Interrupted.', { cause, ...key }), mask);
    if (!isFlywheelError(cause)) throw cause;
    throw maskError(finalError(call, cause, tried), mask);
  }
}
