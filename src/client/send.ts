/**
 * One call until it has a trustworthy answer, or until trying again is of no use.
 *
 * What is at stake is the truth about a POST: once a try may have reached the service, only an answer about the request
 * itself says what became of it; without one the outcome is unknown, and the caller is told so.
 */
import type * as z from 'zod';
import { decodeRateLimit } from '../contract/header-values.js';
import { RATE_LIMIT_HEADER, RETRY_AFTER_HEADER } from '../contract/headers.js';
import { MAX_TRIES } from '../contract/limits.js';
import type { Operation } from '../contract/operations.js';
import { EXIT } from '../errors/exit-codes.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { Clock } from '../values/time.js';
import { decodeProblem, decodeValue } from './decode-response.js';
import type { HttpLog } from './http-log.js';
import { type Pacer, WaitBudget } from './pacing.js';
import { followRedirects } from './redirects.js';
import { backoffMs, isRetryable, retryAfterMs, settlesEarlierTries } from './retry-policy.js';
import type { HttpAnswer, HttpFailure, HttpRequest, Transport } from './transport.js';

export interface Sender {
  readonly transport: Transport;
  readonly pacer: Pacer;
  readonly clock: Clock;
  readonly random: () => number;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly maxWaitMs: number;
  readonly log: HttpLog;
}

export interface PreparedCall {
  readonly operation: Operation;
  readonly idempotencyKey: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly request: HttpRequest;
}

/** A try that brought no value. */
interface Failed {
  readonly error: FlywheelError;
  readonly retryable: boolean;
  /** `maybe-done`: the service may have done it. `refused`: it has not, and neither did earlier tries. `open`: says nothing. */
  readonly meaning: 'maybe-done' | 'refused' | 'open';
  readonly waitMs?: number;
}

function failedWithoutAnswer(failure: HttpFailure): Failed {
  const reason = failure.reason.charAt(0).toUpperCase() + failure.reason.slice(1);
  return {
    error: new FlywheelError('ERR_UNAVAILABLE', `${reason}.`, {
      cause: failure.cause,
      ...(failure.hint === undefined ? {} : { hint: failure.hint }),
    }),
    retryable: failure.retryable,
    meaning: failure.maybeSent ? 'maybe-done' : 'open',
  };
}

const isRedirect = (status: number): boolean => status >= 300 && status < 400;

function redirected(answer: HttpAnswer): Failed {
  return {
    error: new FlywheelError(
      'ERR_RESPONSE_INVALID',
      `The service redirects (${answer.status}) to where the request and its key are not sent.`,
      {
        status: answer.status,
        exit: EXIT.refused,
        hint: 'Give the address to which it redirects as the API address, if you trust it.',
      },
    ),
    retryable: false,
    meaning: 'open',
  };
}

function failedWithAnswer(answer: HttpAnswer, nowMs: number): Failed {
  if (isRedirect(answer.status)) return redirected(answer);
  const { error, trusted } = decodeProblem(answer);
  const waitMs = retryAfterMs(answer.headers[RETRY_AFTER_HEADER], nowMs);
  const unsure = !trusted && answer.status >= 500;
  const settled = trusted && settlesEarlierTries(error);
  return {
    error: waitMs === undefined ? error : error.with({ retryAfterSeconds: Math.ceil(waitMs / 1_000) }),
    retryable: isRetryable(error, trusted),
    meaning: unsure ? 'maybe-done' : settled ? 'refused' : 'open',
    ...(waitMs === undefined ? {} : { waitMs }),
  };
}

async function exchange(sender: Sender, call: PreparedCall, tryNumber: number) {
  const startedMs = sender.clock.nowMs();
  sender.log.request(call.request, tryNumber);
  const outcome = await followRedirects(sender.transport, call.request, call.signal);
  sender.log.outcome(outcome, sender.clock.nowMs() - startedMs);
  if (outcome.kind === 'answer') {
    const state = decodeRateLimit(outcome.headers[RATE_LIMIT_HEADER] ?? '');
    if (state !== undefined) sender.pacer.learn(call.operation.id, state);
  }
  return outcome;
}

async function tryOnce<Schema extends z.ZodType>(
  sender: Sender,
  call: PreparedCall,
  schema: Schema,
  tryNumber: number,
): Promise<{ readonly value: z.infer<Schema>; readonly answer: HttpAnswer } | Failed> {
  const outcome = await exchange(sender, call, tryNumber);
  if (outcome.kind === 'failure') return failedWithoutAnswer(outcome);
  if (outcome.status < 200 || outcome.status >= 300) return failedWithAnswer(outcome, sender.clock.nowMs());
  try {
    return { value: decodeValue(schema, outcome), answer: outcome };
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_RESPONSE_INVALID')) throw error;
    return { error, retryable: true, meaning: 'maybe-done' };
  }
}

/** What the caller is told in the end. */
function finalError(call: PreparedCall, error: FlywheelError, maybeDone: boolean): FlywheelError {
  const key = call.idempotencyKey === undefined ? {} : { idempotencyKey: call.idempotencyKey };
  if (!maybeDone || call.operation.method === 'GET') return error.with(key);
  const { requestId, status } = error.options;
  return new FlywheelError(
    'ERR_OUTCOME_UNKNOWN',
    `The request may have been carried out, but no answer says so. Last: ${error.message}`,
    {
      ...key,
      cause: error,
      hint: `Run the same command again with --idempotency-key ${call.idempotencyKey ?? ''}; what was done is not done twice.`,
      ...(requestId === undefined ? {} : { requestId }),
      ...(status === undefined ? {} : { status }),
    },
  );
}

async function waitForLimit(sender: Sender, call: PreparedCall, budget: WaitBudget): Promise<void> {
  for (let ms = sender.pacer.take(call.operation.id); ms > 0; ms = sender.pacer.take(call.operation.id)) {
    if (!budget.spend(ms)) {
      throw new FlywheelError(
        'ERR_RATE_LIMIT_EXCEEDED',
        `The rate limit leaves no request for another ${Math.ceil(ms / 1_000)} s, longer than may be waited.`,
        { retryAfterSeconds: Math.ceil(ms / 1_000), hint: 'Wait, or allow more with --max-wait.' },
      );
    }
    sender.log.wait(ms, 'rate limit');
    await sender.sleep(ms, call.signal);
  }
}

async function waitForRetry(
  sender: Sender,
  call: PreparedCall,
  budget: WaitBudget,
  failed: Failed & { readonly tryNumber: number },
): Promise<boolean> {
  const ms = failed.waitMs ?? Math.min(backoffMs(failed.tryNumber, sender.random), budget.leftMs);
  if (budget.leftMs <= 0 || !budget.spend(ms)) return false;
  sender.log.wait(ms, failed.error.wireCode);
  await sender.sleep(ms, call.signal);
  return true;
}

const interruption = (call: PreparedCall, cause: unknown): FlywheelError =>
  new FlywheelError('ERR_INTERRUPTED', 'Interrupted.', {
    cause,
    ...(call.idempotencyKey === undefined ? {} : { idempotencyKey: call.idempotencyKey }),
  });

/**
 * Sends a call, again where that is safe and of use.
 * @throws the service's error; `ERR_UNAVAILABLE` when it was never reached; `ERR_OUTCOME_UNKNOWN` when a POST may have been
 * carried out and no answer says so. Each carries the idempotency key.
 */
export async function sendUntilAnswered<Schema extends z.ZodType>(
  sender: Sender,
  call: PreparedCall,
  schema: Schema,
): Promise<{ readonly value: z.infer<Schema>; readonly answer: HttpAnswer }> {
  const budget = new WaitBudget(sender.maxWaitMs);
  let maybeDone = false;
  try {
    for (let tryNumber = 1; ; tryNumber += 1) {
      await waitForLimit(sender, call, budget);
      const result = await tryOnce(sender, call, schema, tryNumber);
      if ('value' in result) return result;
      if (result.meaning !== 'open') maybeDone = result.meaning === 'maybe-done';
      const again = result.retryable && tryNumber < MAX_TRIES;
      if (!again || !(await waitForRetry(sender, call, budget, { ...result, tryNumber }))) throw result.error;
    }
  } catch (error) {
    if (call.signal?.aborted === true) throw interruption(call, error);
    throw isFlywheelError(error) ? finalError(call, error, maybeDone) : error;
  }
}
