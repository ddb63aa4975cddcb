/** The argument that names a batch. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isUuid, type Uuid } from '../../values/ids.js';
import type { Invocation } from '../command.js';

/**
 * The id at a place of the command line.
 * @throws `ERR_INPUT_INVALID` unless it is a UUID.
 */
export function batchIdArgument(invocation: Invocation, at: number): Uuid {
  const id = invocation.requiredArgument(at);
  if (!isUuid(id))
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `A batch id is a UUID, got ${JSON.stringify(id.slice(0, 64))}.`,
    );
  return id.toLowerCase() as Uuid;
}
