/** The one way in which an approval is refused: a reason in a sentence, and nothing signed. */
import { FlywheelError } from '../errors/flywheel-error.js';

/** @throws `ERR_APPROVAL_REFUSED` always, with the reason as a sentence. */
export function refuse(reason: string, cause?: unknown): never {
  throw new FlywheelError('ERR_APPROVAL_REFUSED', `${reason}.`, cause === undefined ? {} : { cause });
}

/** @throws `ERR_APPROVAL_REFUSED` unless the condition holds. */
export function ensure(condition: unknown, reason: () => string): asserts condition {
  if (!condition) refuse(reason());
}
