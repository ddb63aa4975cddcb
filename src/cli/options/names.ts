/** Arguments that name a batch or a profile. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isUuid, type Uuid } from '../../values/uuid.js';

/** The id of a batch. @throws `ERR_INPUT_INVALID` unless it is a UUID. */
export function parseBatchId(id: string): Uuid {
  if (!isUuid(id))
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `Expected a batch id (UUID), got ${JSON.stringify(id.slice(0, 64))}.`,
    );
  return id.toLowerCase() as Uuid;
}

/** The name of a profile. @throws `ERR_INPUT_INVALID` */
export function parseProfileName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name) && name !== '__proto__') return name;
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    'A profile name has 1 to 64 letters, digits, dots, dashes or underscores, and starts with a letter or digit.',
  );
}
