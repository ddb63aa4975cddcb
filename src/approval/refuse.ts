/** Refuses an approval: always with a reason, and nothing is signed. */
import { FlywheelError } from '../errors/flywheel-error.js';

/** @throws `ERR_APPROVAL_REFUSED` always. */
export function refuse(reason: string, cause?: unknown): never {
  throw new FlywheelError('ERR_APPROVAL_REFUSED', `${reason}.`, cause === undefined ? {} : { cause });
}

/** @throws `ERR_APPROVAL_REFUSED` unless the condition is true. */
export function ensure(condition: unknown, reason: () => string): asserts condition {
  if (!condition) refuse(reason());
}
