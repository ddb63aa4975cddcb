import { type FlywheelError, isFlywheelError } from '../../src/errors/flywheel-error.js';

export async function failureOf(promise: Promise<unknown>): Promise<FlywheelError> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in outcome && isFlywheelError(outcome.error)) return outcome.error;
  throw new TypeError(`Expected a FlywheelError, got ${JSON.stringify(outcome)}`, { cause: outcome });
}
