/** Decides what an error says about its operation. */
import type { Call } from '../../contract/call.js';
import { ERRORS } from '../../errors/codes.js';
import { EXIT, type ExitCode } from '../../errors/exit-codes.js';
import { FlywheelError, type FlywheelErrorOptions, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Entry, OperationKind } from '../journal/journal.js';

const STILL_RUNNING: ReadonlySet<string> = new Set([
  'ERR_DUPLICATE_IDEMPOTENCY_KEY',
  'ERR_BATCH_IN_PROGRESS',
]);
const REFUSED_HERE: ReadonlySet<string> = new Set([
  'ERR_INPUT_INVALID',
  'ERR_USAGE',
  'ERR_CONFIG_INVALID',
  'ERR_LOCAL_NOT_FOUND',
  'ERR_KEYPAIR_INVALID',
  'ERR_APPROVAL_REFUSED',
  'ERR_DECLINED',
  // Of a later request.
  'ERR_PARTIAL',
]);

/** True if this request certainly did nothing. An earlier one may have. */
export function saysNothingWasDone(error: FlywheelError): boolean {
  const { code, status, options } = error;
  if (options.unsent !== undefined) return options.unsent;
  if (STILL_RUNNING.has(code) || options.doubtful === true) return false;
  if (ERRORS[code].status === null) return REFUSED_HERE.has(code);
  return status !== undefined && status >= 400 && status < 500 && status !== 408;
}

/** Name of the note that the next request was certainly never carried out. */
const UNTRIED = 'untried';

/** @param request - `null`: from now on the request may be carried out. */
export const untried = (request: string | null): { readonly [UNTRIED]: string | null } => ({
  [UNTRIED]: request,
});

/** @param request - @default the next one */
export function isUntried(entry: Entry, request?: string): boolean {
  const noted = entry.notes[UNTRIED];
  return typeof noted === 'string' && (request === undefined || noted === request);
}

/** True if certainly nothing was ever done under the key. */
export const saysNothingWasEverDone = ({ options }: FlywheelError): boolean =>
  options.doubtful !== true && options.keyUnused === true;

/** Notes a refusal of a request that was certainly never carried out, so that the next run knows. */
export async function trying<Value>(
  entry: Entry,
  request: string,
  send: () => Promise<Value>,
): Promise<Value> {
  const isNoted = isUntried(entry, request);
  const isFirst = entry.isNew || entry.hasActed || isNoted;
  if (isNoted) entry.note(untried(null));
  return send().catch((thrown: unknown) => {
    // An operation that certainly did nothing is deleted.
    const isKept = !entry.isNew || entry.hasActed;
    if (isKept && isFlywheelError(thrown)) {
      const isRefused = isFirst && saysNothingWasDone(thrown);
      if (isRefused || saysNothingWasEverDone(thrown)) entry.note(untried(request));
    }
    throw thrown;
  });
}

/**
 * A failed burn frees its key: over a network an earlier attempt may still burn. The embedded engine has no earlier attempt.
 */
export const hasFailed = (kind: OperationKind, { code, options }: FlywheelError): boolean =>
  kind === 'burn' && code === 'ERR_BURN_TOKENOMICS_FAILED' && options.doubtful !== true;

export const notSent = (message: string, hint?: string, options: FlywheelErrorOptions = {}): FlywheelError =>
  new FlywheelError('ERR_INPUT_INVALID', `${message} Nothing was sent.`, {
    ...options,
    ...(hint && { hint }),
  });

/** The message of {@link notSent}, where something was sent before. */
export const withoutNothingSent = (message: string): string => message.replace(/ Nothing was sent\.$/, '');

export const outcomeUnknown = (
  message: string,
  hint?: string,
  options: FlywheelErrorOptions = {},
): FlywheelError =>
  new FlywheelError('ERR_OUTCOME_UNKNOWN', withoutNothingSent(message), {
    ...{ ...options, ...(hint && { hint }) },
  });

/** Exits of a failed look-up that would say that nothing was done or signed. */
const SAYS_NOTHING_DONE: ReadonlySet<ExitCode> = new Set([
  ...[EXIT.usage, EXIT.auth, EXIT.refused, EXIT.unavailable],
  ...[EXIT.internal, EXIT.unsafe],
]);

/**
 * Looks up the result of a request that was answered as executed. A refusal of the look-up is none of the request.
 * @throws `ERR_OUTCOME_UNKNOWN` when it cannot be looked up; `ERR_APPROVAL_REFUSED` for what it has found
 */
export const afterwards = <Seen>(look: () => Promise<Seen>): Promise<Seen> =>
  look().catch((error: unknown) => {
    if (!isFlywheelError(error) || !SAYS_NOTHING_DONE.has(error.exitCode)) throw error;
    if (error.code === 'ERR_APPROVAL_REFUSED') throw error;
    const { message, options } = error;
    throw outcomeUnknown(
      `The service executed the request, but its result cannot be looked up: ${message}`,
      undefined,
      { requestId: options.requestId, cause: error },
    );
  });

/** Of a look-up before a request: an answer that is none says nothing of the request, which is not sent. */
export function unread(error: unknown): never {
  if (!isFlywheelError(error, 'ERR_RESPONSE_INVALID')) throw error;
  const exit = error.exitCode === EXIT.internal ? EXIT.unavailable : error.exitCode;
  throw new FlywheelError(error.code, `${error.message} Nothing was sent.`, { ...error.options, exit });
}

/** What a look-up finds. Whatever else it ends with says nothing of the request. */
const FOUND: ReadonlySet<string> = new Set(['ERR_INPUT_INVALID', 'ERR_PARTIAL', 'ERR_APPROVAL_REFUSED']);

/**
 * Looks up what others have done before the first try of a request: whatever it meets, that request was not sent.
 * @returns the call, which looks again before each further try
 */
export async function lookedUp(
  { hasAnswers }: Pick<Entry, 'hasAnswers'>,
  look: () => Promise<void>,
  call: Call,
): Promise<Call> {
  await look()
    .catch(unread)
    .catch((error: unknown) => {
      if (!isFlywheelError(error)) throw error;
      const message = hasAnswers ? withoutNothingSent(error.message) : error.message;
      throw new FlywheelError(error.code, message, { ...error.options, unsent: true, doubtful: false });
    });
  const beforeRetry = () =>
    look().then(
      () => undefined,
      (error: unknown) => {
        if (!isFlywheelError(error) || FOUND.has(error.code)) throw error;
        return error;
      },
    );
  return { ...call, beforeRetry };
}

/** Some effects of the request may be there already. */
export const breaksOff = ({ code, options }: FlywheelError): boolean =>
  code === 'ERR_STORE_UNAVAILABLE' || options.doubtful === true || options.unsent === false;
