/** Options that take a time. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isoTime, parseTime } from '../../values/time.js';

/**
 * ISO text in UTC, or `undefined`; a day begins at midnight UTC.
 * @throws `ERR_INPUT_INVALID`
 */
export function timeOption(flag: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const timeMs = parseTime(text);
  if (timeMs !== undefined) return isoTime(timeMs);
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    `${flag}: expected a day such as 2026-01-31 or a time such as 2026-01-31T18:00:00Z, got ${JSON.stringify(text.slice(0, 60))}.`,
  );
}
