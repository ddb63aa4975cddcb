/** The option `--idempotency-key`, the same for every command that has it. */
import { Option } from '@commander-js/extra-typings';
import { isIdempotencyKey } from '../../contract/headers.js';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../../contract/limits.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isUuid } from '../../values/uuid.js';

const DESCRIPTION =
  'run the request at most once under this key (default: from the content; new for each `burn`)';

export const IDEMPOTENCY_KEY_OPTION = new Option('--idempotency-key <key>', DESCRIPTION);
/** For requests whose key has to be a UUID. */
export const IDEMPOTENCY_UUID_OPTION = new Option('--idempotency-key <uuid>', DESCRIPTION);

/**
 * The key given, if one was.
 * @throws `ERR_USAGE` when it is malformed.
 */
export function parseIdempotencyKey(
  key: string | undefined,
  rule: 'uuid' | 'text' = 'text',
): string | undefined {
  if (key === undefined) return undefined;
  if (rule === 'uuid' && !isUuid(key))
    throw new FlywheelError(
      'ERR_USAGE',
      `--idempotency-key must be a UUID, got ${JSON.stringify(key.slice(0, 64))}.`,
    );
  if (!isIdempotencyKey(key)) {
    throw new FlywheelError(
      'ERR_USAGE',
      `--idempotency-key takes 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} visible ASCII characters.`,
    );
  }
  // A UUID is one key in any case.
  return isUuid(key) ? key.toLowerCase() : key;
}
