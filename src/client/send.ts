/**
 * One call until it has a trustworthy answer, or until trying again is of no use.
 *
 * What is at stake is the truth about a POST: once a try may have reached the service, only an answer about the request
 * itself says what became of it; without one the outcome is unknown, and the error says so.
 */
import type * as z from 'zod';
import type { Call } from '../contract/call.js';
import { REQUEST_ID_HEADER, RETRY_AFTER_HEADER } from '../contract/headers.js';
import { MAX_TRIES } from '../contract/limits.js';
import type { Operation } from '../contract/operations.js';
import type { BatchStatus } from '../contract/schemas/batch.js';
import { ERRORS, type ErrorCode } from '../errors/codes.js';
import { EXIT } from '../errors/exit-codes.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { Clock } from '../values/time.js';
import { answerContext, decodeProblem, decodeValue, type Reading } from './answer.js';
import type { Finding, Warning } from './check-answer.js';
import { hintForService } from './connection-failure.js';
import type { HttpLog } from './http-log.js';
import { maskError, maskValue } from './mask.js';
import type { HttpAnswer, HttpFailure, HttpRequest, Transport } from './transport.js';

/** Begins the request ids of this client: an answer with another of them answers another request. */
export const OWN_REQUEST_ID = 'flywheel-';

/** What all calls of a client have in common. */
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

/** One call, checked and put into a request. */
export interface PreparedCall {
  readonly operation: Pick<Operation, 'id' | 'method'>;
  readonly idempotencyKey: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly request: HttpRequest;
  readonly reading: Reading;
  /** Looks at the batch that the call is about, where that may take longer than a request. */
  readonly look?: (() => Promise<BatchSeen>) | undefined;
  readonly onWaiting?: Call['onWaiting'] | undefined;
}

interface BatchSeen {
  /** `null`: there is none yet. */
  readonly status: BatchStatus | null;
  /** The operation has come to its end, or has nothing to wait for. */
  readonly isOver: boolean;
}

/** How an answer of success is judged. */
interface Expected<Value> {
  readonly schema: z.ZodType<Value>;
  readonly check: (value: Value) => Finding;
}

/** A value that can be believed, and where it came from. */
interface Answered<Value> {
  readonly value: Value;
  readonly answer: HttpAnswer;
  readonly finding: Finding;
}

/** A try that brought no value. */
interface Failed {
  readonly error: FlywheelError;
  readonly retryable: boolean;
  /**
   * `unsent`: the service has not seen it. `maybe-done`: the service may have done it. `under-way`: the service says itself that
   * it is at it, or was when it had to stop. `refused`: it has not done it, and neither did earlier tries. `open`: says nothing.
   */
  readonly meaning: 'unsent' | 'maybe-done' | 'under-way' | 'refused' | 'open';
  readonly waitMs?: number | undefined;
  /** It was sent, and the time for its answer ran out. */
  readonly late?: boolean;
}

/** Bounds of the random wait before the second try; they double with each further one (contract, section 2.5). */
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 8_000;

const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

/** Every POST of this client that acts carries an idempotency key, and the others do nothing twice, so that `with-key` always holds. */
function isRetryable({ code, options, status = 0 }: FlywheelError, trusted: boolean): boolean {
  if (trusted && options.foreignCode === undefined) return ERRORS[code as ErrorCode].retry !== 'never';
  return RETRYABLE_STATUSES.has(status);
}

/** The header's seconds or HTTP date (RFC 9110, section 10.2.3) as milliseconds from now. */
function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d{1,9}(?:\.\d{1,9})?$/.test(text)) return Math.ceil(Number(text) * 1_000);
  const dateMs = Date.parse(text);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}

/** What one call may take: all of it together, and of that the waits between tries. */
class CallBudget {
  readonly #clock: Clock;
  readonly #endMs: number;
  #waitsMs: number;

  constructor({ clock, totalTimeoutMs, maxWaitMs }: Sender) {
    this.#clock = clock;
    this.#endMs = clock.nowMs() + totalTimeoutMs;
    this.#waitsMs = maxWaitMs;
  }

  /** At least 0. */
  get leftMs(): number {
    return Math.max(0, this.#endMs - this.#clock.nowMs());
  }

  get waitsMs(): number {
    return Math.min(this.#waitsMs, this.leftMs);
  }

  /** False, and nothing is taken, for a wait that is longer than what is left. */
  spend(ms: number): boolean {
    if (ms > this.waitsMs) return false;
    this.#waitsMs -= ms;
    return true;
  }
}

/** A reason as a sentence; the name of a host that it begins with stays as it is. */
const sentence = (reason: string, host: string): string =>
  `${reason.startsWith(host) ? reason : reason.charAt(0).toUpperCase() + reason.slice(1)}.`;

function failedWithoutAnswer(failure: HttpFailure, { host }: URL): Failed {
  const { reason, cause, hint } = failure;
  return {
    error: new FlywheelError('ERR_UNAVAILABLE', sentence(reason, host), {
      ...{ cause, ...(hint === undefined ? hintForService(reason, host) : { hint }) },
    }),
    retryable: failure.retryable,
    meaning: failure.maybeSent ? 'maybe-done' : 'unsent',
    late: failure.late === true,
  };
}

const isRedirect = (status: number): boolean => status >= 300 && status < 400;
/** Redirects that say where to send the request instead; 303 says that it was carried out (RFC 9110, section 15.4.4). */
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

/** An answer that no service of this contract gives is not believed; what one says of itself is. */
function meaningOf({ options }: FlywheelError, status: number, trusted: boolean): Failed['meaning'] {
  if (!trusted) return status >= 500 ? 'maybe-done' : 'open';
  // Only this settles an earlier try without an answer: whatever else refuses leaves the key to that one.
  if (options.keyUnused === true) return 'refused';
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
  const { status } = answer;
  if (isRedirect(status)) return redirected(answer);
  const { error: said, trusted } = decodeProblem(answer, call.reading);
  const error = notOffered(call, said);
  const waitMs = retryAfterMs(answer.headers[RETRY_AFTER_HEADER], nowMs);
  const isOfService = trusted && said.options.foreignCode === undefined && isEchoed(call, answer);
  return {
    error: error.with({
      ...(status < 500 && !isOfService ? { doubtful: true } : {}),
      ...(waitMs === undefined ? {} : { retryAfterSeconds: Math.ceil(waitMs / 1_000) }),
    }),
    ...{ retryable: isRetryable(error, trusted), meaning: meaningOf(error, status, trusted), waitMs },
  };
}

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
  { warn }: Sender,
  call: PreparedCall,
  answer: HttpAnswer,
  { schema, check }: Expected<Value>,
): Answered<Value> | Failed {
  try {
    const value = decodeValue(schema, answer, call.reading);
    const finding = check(value);
    const contradiction = finding.contradiction ?? (isEchoed(call, answer) ? undefined : finding.unproven);
    if (contradiction === undefined && finding.warnings.length === 0) return { value, answer, finding };
    // What is said about the answer quotes it, and must quote it without the key.
    const shown = check(maskValue(value, call.reading.mask));
    const quoted = shown.contradiction ?? shown.unproven ?? 'it contains the API key in the wrong place';
    if (contradiction !== undefined) return contradicted(call, answer, quoted);
    shown.warnings.forEach(warn);
    return { value, answer, finding };
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_RESPONSE_INVALID')) throw error;
    return { error, retryable: answer.unread === undefined, meaning: 'maybe-done' };
  }
}

/** A service that answers something else than it was asked is not asked again: it might act again. */
const contradicted = ({ reading }: PreparedCall, answer: HttpAnswer, contradiction: string): Failed => ({
  error: new FlywheelError(
    'ERR_RESPONSE_INVALID',
    `The answer contradicts the request: ${contradiction}.`,
    answerContext(answer, reading),
  ),
  ...{ retryable: false, meaning: 'maybe-done' },
});

/** @throws `ERR_INTERRUPTED` */
async function tryOnce<Value>(
  sender: Sender,
  call: PreparedCall,
  expected: Expected<Value>,
  { leftMs, tryNumber }: { readonly leftMs: number; readonly tryNumber: number },
): Promise<Answered<Value> | Failed> {
  const { clock, log, transport } = sender;
  const { request, reading, signal } = call;
  const startedMs = clock.nowMs();
  log.request(request, tryNumber);
  const timeoutMs = Math.min(sender.requestTimeoutMs, leftMs);
  const outcome = await transport.exchange(request, { timeoutMs, maxBytes: reading.maxBytes, signal });
  log.outcome(outcome, clock.nowMs() - startedMs, reading.mask);
  if (outcome.kind === 'failure') return failedWithoutAnswer(outcome, request.url);
  if (isOfAnother(call, outcome)) return contradicted(call, outcome, 'it answers another request');
  if (outcome.status < 200 || outcome.status >= 300) return failedWithAnswer(call, outcome, clock.nowMs());
  return readAnswer(sender, call, outcome, expected);
}

/** What the tries so far say together. */
interface Tried {
  /** The service may have done it, and nothing has said otherwise since. */
  maybeDone: boolean;
  /** An earlier try was under way at the service; what refuses a later one need not know what became of it. */
  underWay: boolean;
  /** No try has reached the service. */
  unsent: boolean;
}

function addTo(tried: Tried, { meaning }: Failed): void {
  if (meaning === 'maybe-done') tried.maybeDone = true;
  if (meaning === 'under-way') tried.underWay = true;
  if (meaning === 'refused') Object.assign(tried, { maybeDone: false, underWay: false });
  if (meaning !== 'unsent') tried.unsent = false;
}

/** Refused for what it is, or for who asks; that the same request is still running is no refusal. */
const isRefusal = ({ status = 0 }: FlywheelError): boolean => status >= 400 && status < 500 && status !== 409;

/** The error of the call in the end. */
function finalError(
  { idempotencyKey, operation, request }: PreparedCall,
  error: FlywheelError,
  { maybeDone, underWay, unsent }: Tried,
): FlywheelError {
  const key = idempotencyKey === undefined ? {} : { idempotencyKey };
  if (unsent && error.code === 'ERR_UNAVAILABLE')
    return new FlywheelError(error.code, `${error.message} Nothing was sent.`, {
      ...{ ...error.options, ...key, unsent: true },
    });
  const isOpen = maybeDone || (underWay && isRefusal(error));
  if (!isOpen || operation.method === 'GET') return error.with(key);
  const { requestId = request.headers[REQUEST_ID_HEADER], status } = error.options;
  return new FlywheelError(
    'ERR_OUTCOME_UNKNOWN',
    `The request may have been executed, but no answer confirms it. Last problem: ${error.message}`,
    {
      ...{ ...key, cause: error },
      hint:
        idempotencyKey === undefined
          ? 'Check the batch before you try again.'
          : `Run the same command again with --idempotency-key ${idempotencyKey}. Nothing is done twice.`,
      ...(requestId === undefined ? {} : { requestId }),
      ...(status === undefined ? {} : { status }),
    },
  );
}

const gaveUp = ({ totalTimeoutMs }: Sender, { code, message, options }: FlywheelError): FlywheelError =>
  new FlywheelError(code, `${message} The total time limit of ${totalTimeoutMs / 1_000} s is over.`, {
    ...{ ...options, hint: options.hint ?? 'Allow more time with --wait.' },
  });

/** Waits before the next try; false where no more waiting is allowed. @throws the error of the last one when all time is over. */
async function waitForRetry(
  sender: Sender,
  { signal }: PreparedCall,
  budget: CallBudget,
  { error, waitMs, tryNumber }: Failed & { readonly tryNumber: number },
): Promise<boolean> {
  // Full jitter: anything from nothing to the bound.
  const bound = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (tryNumber - 1));
  const ms = waitMs ?? Math.min(Math.floor(sender.random() * bound), budget.waitsMs);
  if (budget.leftMs <= ms) throw gaveUp(sender, error);
  if (budget.waitsMs <= 0 || !budget.spend(ms)) return false;
  sender.log.wait(ms, error.wireCode);
  await sender.sleep(ms, signal);
  return true;
}

/** Between two looks at the batch. */
const LOOK_MS = 2_000;
/** From a request until it is sent once more, whatever the batch says: its work may have stopped without an end. */
const MAX_BETWEEN_MS = 30_000;

/** Is the service at it, as it says itself or as it may be where it has not answered in time? */
const isUnderWay = ({ error: { code }, meaning, late }: Failed): boolean =>
  late === true ||
  (meaning === 'under-way' && (code === 'ERR_DUPLICATE_IDEMPOTENCY_KEY' || code === 'ERR_BATCH_IN_PROGRESS'));

/**
 * Init and execute may take longer than a request, and may be asked for ten times a minute only: the batch is looked at until it is
 * worth asking once more.
 * @param waitedMs - so far, for the same call.
 * @returns `null` where all the time is over; else how long was waited for the call.
 */
async function waitWhileUnderWay(
  sender: Sender,
  { look, onWaiting, signal }: PreparedCall,
  budget: CallBudget,
  waitedMs: number,
): Promise<number | null> {
  for (let now = waitedMs; ; ) {
    if (Math.min(budget.leftMs, sender.totalTimeoutMs - now) <= LOOK_MS) return null;
    sender.log.wait(LOOK_MS, 'under way');
    await sender.sleep(LOOK_MS, signal);
    now += LOOK_MS;
    const seen = await look?.().catch((error: unknown) => {
      if (signal?.aborted === true) throw error;
      // What cannot be looked at now may be at the next look.
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
  const budget = new CallBudget(sender);
  let waitedMs: number | null = 0;
  for (let tryNumber = 1; ; tryNumber += 1) {
    const { leftMs } = budget;
    if (leftMs <= 0)
      throw gaveUp(sender, new FlywheelError('ERR_UNAVAILABLE', 'No time is left for a request.'));
    const result = await tryOnce(sender, call, expected, { leftMs, tryNumber });
    if ('value' in result) return result;
    addTo(tried, result);
    if (isUnderWay(result) && call.look !== undefined) {
      waitedMs = await waitWhileUnderWay(sender, call, budget, waitedMs);
      if (waitedMs === null) throw gaveUp(sender, result.error);
      // These are no failed tries.
      tryNumber = 0;
      continue;
    }
    const again = result.retryable && tryNumber < MAX_TRIES;
    if (!again || !(await waitForRetry(sender, call, budget, { ...result, tryNumber }))) throw result.error;
  }
}

/**
 * Sends a call, again where that is safe and of use.
 * @throws the service's error; `ERR_UNAVAILABLE` when it was never reached; `ERR_OUTCOME_UNKNOWN` when a POST may have been
 * carried out and no answer says so. Each carries the idempotency key, and none the API key.
 */
export async function sendUntilAnswered<Value>(
  sender: Sender,
  call: PreparedCall,
  expected: Expected<Value>,
): Promise<Answered<Value>> {
  const tried: Tried = { maybeDone: false, underWay: false, unsent: true };
  const { signal, idempotencyKey, reading } = call;
  try {
    return await tryUntilAnswered(sender, call, expected, tried);
  } catch (cause) {
    const key = idempotencyKey === undefined ? {} : { idempotencyKey };
    if (signal?.aborted === true)
      throw maskError(new FlywheelError('ERR_INTERRUPTED', 'Interrupted.', { cause, ...key }), reading.mask);
    if (!isFlywheelError(cause)) throw cause;
    throw maskError(finalError(call, cause, tried), reading.mask);
  }
}
