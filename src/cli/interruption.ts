/** Tells an interruption from what it broke: after a signal, an unexplained failure is the interruption itself. */
import { FlywheelError, isFlywheelError, wrapUnknown } from '../errors/flywheel-error.js';

/** Whatever was thrown as an error of the house; `ERR_INTERRUPTED` where a signal is why. */
export function asFlywheelError(thrown: unknown, signal: AbortSignal): FlywheelError {
  const error = wrapUnknown(thrown);
  const explained = isFlywheelError(thrown) && thrown.code !== 'ERR_INTERNAL';
  if (!signal.aborted || explained) return error;
  return new FlywheelError('ERR_INTERRUPTED', 'Interrupted.', {
    hint: 'What was sent goes on; run the same command again to learn its outcome.',
    cause: thrown,
  });
}
