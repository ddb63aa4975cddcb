/** The argument that names a batch. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isUuid, type Uuid } from '../../values/ids.js';

/** @throws `ERR_INPUT_INVALID` unless it is a UUID. */
export function parseBatchId(id: string): Uuid {
  if (!isUuid(id))
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `A batch id is a UUID, got ${JSON.stringify(id.slice(0, 64))}.`,
    );
  return id.toLowerCase() as Uuid;
}
