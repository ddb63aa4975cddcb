/** What an error says about the operation that it came of. */
import { ERRORS } from '../../errors/codes.js';
import { FlywheelError, type FlywheelErrorOptions } from '../../errors/flywheel-error.js';
import type { Entry, OperationKind } from '../journal/journal.js';

/** Codes that say of a request that an earlier one is still at it. */
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
]);

/** Is it certain that the request which got this error did nothing? It says nothing about earlier ones. */
export function saysNothingWasDone(error: FlywheelError): boolean {
  const { code, status, options } = error;
  if (options.unsent === true) return true;
  if (STILL_RUNNING.has(code) || options.doubtful === true) return false;
  if (ERRORS[code].status === null) return REFUSED_HERE.has(code);
  return status !== undefined && status >= 400 && status < 500 && status !== 408;
}

/** The note of the request that comes next, where it is certain that it was never carried out: what came of the others is stored. */
const UNTRIED = 'untried';

/** Notes that a request was never carried out, or, with `null`, that it may be from now on. */
export const untried = (request: string | null): { readonly [UNTRIED]: string | null } => ({
  [UNTRIED]: request,
});

/** Is it certain of this request, or of the one that comes next, that it was never carried out? */
export function isUntried(entry: Entry, request?: string): boolean {
  const noted = entry.notes[UNTRIED];
  return typeof noted === 'string' && (request === undefined || noted === request);
}

/** Is it certain that nothing was ever done under the key, by this request or an earlier one? */
export const saysNothingWasEverDone = ({ options }: FlywheelError): boolean =>
  options.doubtful !== true && options.keyUnused === true;

/**
 * The same of an engine in this process, where no earlier request is on its way. A burn that failed leaves its key free, so that over
 * a network an earlier try may burn yet.
 */
export const hasFailed = (kind: OperationKind, { code, options }: FlywheelError): boolean =>
  kind === 'burn' && code === 'ERR_BURN_TOKENOMICS_FAILED' && options.doubtful !== true;

/** What is asked for cannot be done as it stands. @param hint - what to do next */
export const notSent = (message: string, hint?: string, options: FlywheelErrorOptions = {}): FlywheelError =>
  new FlywheelError('ERR_INPUT_INVALID', `${message} Nothing was sent.`, {
    ...options,
    ...(hint && { hint }),
  });

/** Something may have been done, and nobody here can say. @param hint - what to do next */
export const outcomeUnknown = (
  message: string,
  hint?: string,
  options: FlywheelErrorOptions = {},
): FlywheelError => new FlywheelError('ERR_OUTCOME_UNKNOWN', message, { ...options, ...(hint && { hint }) });

/** Does it stop in the middle, or leave open who says it? Of a step that had several effects some may be there. */
export const breaksOff = ({ code, options }: FlywheelError): boolean =>
  code === 'ERR_STORE_UNAVAILABLE' || options.doubtful === true || options.unsent === false;
