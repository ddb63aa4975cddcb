/** An error → what stderr says of it: two lines for people, one JSON line for programs (contract, section 2.3). */
import type { FlywheelError } from '../../errors/flywheel-error.js';
import type { OutputMode } from '../config/settings.js';
import type { Io } from '../context.js';
import type { Style } from './color.js';
import { safeJson, safeLine } from './safe-text.js';

/** The error as a JSON value; absent fields are left out. */
export function errorRecord(error: FlywheelError): Record<string, string | number> {
  const { requestId, idempotencyKey } = error.options;
  return {
    error: error.wireCode,
    message: error.message,
    ...(error.status === undefined ? {} : { status: error.status }),
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
}

/** The error as lines for people. */
export function errorLines(error: FlywheelError, style: Style): readonly string[] {
  const { requestId, idempotencyKey } = error.options;
  return [
    `${style.bad('error:')} ${safeLine(error.message)} ${style.dim(`(${safeLine(error.wireCode)})`)}`,
    ...(error.hint === undefined ? [] : [`${style.bold('hint:')} ${safeLine(error.hint)}`]),
    ...(requestId === undefined ? [] : [`request id: ${safeLine(requestId)}`]),
    ...(idempotencyKey === undefined ? [] : [`idempotency key: ${safeLine(idempotencyKey)}`]),
  ];
}

const MAX_STACKS = 8;

/** Stack and causes, for FLYWHEEL_DEBUG. */
function debugLines(error: unknown): readonly string[] {
  const stacks: (readonly string[])[] = [];
  for (let at: unknown = error; at instanceof Error && stacks.length < MAX_STACKS; at = at.cause)
    stacks.push(stackLines(at));
  return stacks.flat();
}

/** A stack in its lines; the message at its head is of unknown origin, so that its own line breaks are none. */
function stackLines({ stack, message }: Error): readonly string[] {
  const end = stack?.includes(message) === true ? stack.indexOf(message) + message.length : 0;
  const head = stack === undefined ? message : stack.slice(0, end);
  return [head, ...(stack ?? '').slice(end).split('\n')].map(safeLine).filter((line) => line !== '');
}

/** Writes an error to stderr. */
export function reportError(
  io: Io,
  error: FlywheelError,
  how: { readonly mode: OutputMode; readonly style: Style; readonly debug: boolean },
): void {
  const lines = how.mode === 'human' ? errorLines(error, how.style) : [safeJson(errorRecord(error))];
  const debug = how.debug ? debugLines(error) : [];
  io.stderr.write([...lines, ...debug].map((line) => `${line}\n`).join(''));
}
