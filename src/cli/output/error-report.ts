/** An error → what stderr says of it: two lines for people, one JSON line for programs (contract, section 2.3). */
import type { FlywheelError } from '../../errors/flywheel-error.js';
import type { OutputMode } from '../config/settings.js';
import type { Io } from '../context.js';
import type { Style } from './color.js';
import { safeJson, safeText } from './safe-text.js';

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
    `${style.bad('error:')} ${safeText(error.message)} ${style.dim(`(${error.wireCode})`)}`,
    ...(error.hint === undefined ? [] : [`${style.bold('hint:')} ${safeText(error.hint)}`]),
    ...(requestId === undefined ? [] : [`request id: ${safeText(requestId)}`]),
    ...(idempotencyKey === undefined ? [] : [`idempotency key: ${safeText(idempotencyKey)}`]),
  ];
}

/** Stack and causes, for FLYWHEEL_DEBUG. */
function debugLines(error: unknown): readonly string[] {
  const lines: string[] = [];
  for (let at: unknown = error; at instanceof Error && lines.length < 8; at = at.cause) {
    lines.push(safeText(at.stack ?? at.message));
  }
  return lines;
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
