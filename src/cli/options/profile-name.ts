/** The argument that names a profile. */
import { FlywheelError } from '../../errors/flywheel-error.js';

/** @throws `ERR_INPUT_INVALID` */
export function parseProfileName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name) && name !== '__proto__') return name;
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    'A profile name has 1 to 64 letters, digits, dots, dashes or underscores, and begins with a letter or digit.',
  );
}
