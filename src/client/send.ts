/**
 * One call until it has a trustworthy answer, or until trying again is of no use.
 *
 * What is at stake is the truth about a POST: once a try may have reached the service, only an answer about the request
 * itself says what became of it; without one the outcome is unknown, and the error says so.
 */
import { REQUEST_ID_HEADER } from '../contract/headers.js';
import { MAX_TRIES } from '../contract/limits.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import {
  type Answered,
  type BatchSeen,
  type Expected,
  type Failed,
  type PreparedCall,
  type Sender,
  tryOnce,
} from './attempt.js';
import { maskError } from './mask.js';
import { backoffMs, CallBudget } from './pacing.js';

/** The same error, saying more. */
const rewritten = (error: FlywheelError, message: string, hint?: string): FlywheelError =>
  new FlywheelError(error.code, message, { ...error.options, ...(hint === undefined ? {} : { hint }) });

/** What the tries so far say together. */
interface Tried {
  /** The service may have done it, and nothing has said otherwise since. */
  maybeDone: boolean;
  /** An earlier try was under way at the service; what refuses a later one need not know what became of it. */
  underWay: boolean;
  /** No try has reached the service. */
  unsent: boolean;
}

/** Refused for what it is, or for who asks; that the same request is still running is no refusal. */
const isRefusal = ({ status }: FlywheelError): boolean =>
  status !== undefined && status >= 400 && status < 500 && status !== 409;

function addTo(tried: Tried, { meaning }: Failed): void {
  if (meaning === 'maybe-done') tried.maybeDone = true;
  if (meaning === 'under-way') tried.underWay = true;
  if (meaning === 'refused') Object.assign(tried, { maybeDone: false, underWay: false });
  if (meaning !== 'unsent') tried.unsent = false;
}

/** The error of the call in the end. */
function finalError(
  call: PreparedCall,
  error: FlywheelError,
  { maybeDone, underWay, unsent }: Tried,
): FlywheelError {
  const key = call.idempotencyKey === undefined ? {} : { idempotencyKey: call.idempotencyKey };
  if (unsent && error.code === 'ERR_UNAVAILABLE')
    return rewritten(error, `${error.message} Nothing was sent.`).with({ ...key, unsent: true });
  const isOpen = maybeDone || (underWay && isRefusal(error));
  if (!isOpen || call.operation.method === 'GET') return error.with(key);
  const { requestId = call.request.headers[REQUEST_ID_HEADER], status } = error.options;
  return new FlywheelError(
    'ERR_OUTCOME_UNKNOWN',
    `The request may have been executed, but no answer confirms it. Last problem: ${error.message}`,
    {
      ...key,
      cause: error,
      hint:
        call.idempotencyKey === undefined
          ? 'Check the batch before you try again.'
          : `Run the same command again with --idempotency-key ${call.idempotencyKey}. Nothing is done twice.`,
      ...(requestId === undefined ? {} : { requestId }),
      ...(status === undefined ? {} : { status }),
    },
  );
}

const gaveUp = ({ totalTimeoutMs }: Sender, error: FlywheelError): FlywheelError =>
  rewritten(
    error,
    `${error.message} The total time limit of ${totalTimeoutMs / 1_000} s is over.`,
    error.options.hint ?? 'Allow more time with --wait.',
  );

/** Waits before the next try; false where no more waiting is allowed. @throws the error of the last one when all time is over. */
async function waitForRetry(
  sender: Sender,
  call: PreparedCall,
  budget: CallBudget,
  { error, waitMs, tryNumber }: Failed & { readonly tryNumber: number },
): Promise<boolean> {
  const ms = waitMs ?? Math.min(backoffMs(tryNumber, sender.random), budget.waitsMs);
  if (budget.leftMs <= ms) throw gaveUp(sender, error);
  if (budget.waitsMs <= 0 || !budget.spend(ms)) return false;
  sender.log.wait(ms, error.wireCode);
  await sender.sleep(ms, call.signal);
  return true;
}

const interruption = (call: PreparedCall, cause: unknown): FlywheelError =>
  new FlywheelError('ERR_INTERRUPTED', 'Interrupted.', {
    cause,
    ...(call.idempotencyKey === undefined ? {} : { idempotencyKey: call.idempotencyKey }),
  });

/** Between two looks at the batch. */
const LOOK_MS = 2_000;
/** From a request until it is sent once more, whatever the batch says: its work may have stopped without an end. */
const MAX_BETWEEN_MS = 30_000;

/** Is the service at it, as it says itself or as it may be where it has not answered in time? */
function isUnderWay({ error, meaning, late }: Failed): boolean {
  if (late === true) return true;
  if (meaning !== 'under-way') return false;
  return (
    isFlywheelError(error, 'ERR_DUPLICATE_IDEMPOTENCY_KEY') || isFlywheelError(error, 'ERR_BATCH_IN_PROGRESS')
  );
}

/**
 * Waiting for what the service is at: init and execute may take longer than a request, and may be asked for ten times a minute
 * only, so that the batch is looked at until that is over, and they are asked for once more then.
 */
class UnderWay {
  readonly #sender: Sender;
  readonly #call: Pick<PreparedCall, 'look' | 'onWaiting' | 'signal'>;
  readonly #budget: CallBudget;
  #waitedMs = 0;

  constructor(sender: Sender, call: PreparedCall, budget: CallBudget) {
    this.#sender = sender;
    this.#call = call;
    this.#budget = budget;
  }

  /** Is there something to look at? */
  get canLook(): boolean {
    return this.#call.look !== undefined;
  }

  /** Waits until it is worth asking once more. @returns false where all the time is over */
  async wait(): Promise<boolean> {
    const untilMs = this.#waitedMs + MAX_BETWEEN_MS;
    for (;;) {
      const leftMs = Math.min(this.#budget.leftMs, this.#sender.totalTimeoutMs - this.#waitedMs);
      if (leftMs <= LOOK_MS) return false;
      this.#sender.log.wait(LOOK_MS, 'under way');
      await this.#sender.sleep(LOOK_MS, this.#call.signal);
      this.#waitedMs += LOOK_MS;
      const seen = await this.#look();
      if (seen?.isOver === true || this.#waitedMs >= untilMs) return true;
    }
  }

  async #look(): Promise<BatchSeen | undefined> {
    const { look, onWaiting, signal } = this.#call;
    try {
      const seen = await look?.();
      if (seen !== undefined) onWaiting?.({ status: seen.status });
      return seen;
    } catch (error) {
      if (signal?.aborted === true) throw error;
      // What cannot be looked at now may be at the next look.
      return undefined;
    }
  }
}

async function tryUntilAnswered<Value>(
  sender: Sender,
  call: PreparedCall,
  expected: Expected<Value>,
  tried: Tried,
): Promise<Answered<Value>> {
  const budget = new CallBudget(sender.clock, sender.totalTimeoutMs, sender.maxWaitMs);
  const underWay = new UnderWay(sender, call, budget);
  for (let tryNumber = 1; ; tryNumber += 1) {
    if (budget.leftMs <= 0)
      throw gaveUp(sender, new FlywheelError('ERR_UNAVAILABLE', 'No time is left for a request.'));
    const result = await tryOnce(sender, call, expected, budget, tryNumber);
    if ('value' in result) return result;
    addTo(tried, result);
    if (isUnderWay(result) && underWay.canLook) {
      if (!(await underWay.wait())) throw gaveUp(sender, result.error);
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
  try {
    return await tryUntilAnswered(sender, call, expected, tried);
  } catch (error) {
    const { mask } = call.reading;
    if (call.signal?.aborted === true) throw maskError(interruption(call, error), mask);
    if (!isFlywheelError(error)) throw error;
    throw maskError(finalError(call, error, tried), mask);
  }
}
