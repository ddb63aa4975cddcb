/** Options that take a time. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isoTime } from '../../values/time.js';

/** A day, or a time with its zone: without one it would be another time on every machine. */
const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/i;

/**
 * ISO text in UTC, or `undefined`; a day begins at midnight UTC.
 * @throws `ERR_INPUT_INVALID`
 */
export function timeOption(flag: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const timeMs = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(timeMs)) return isoTime(timeMs);
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    `${flag}: expected a day such as 2026-01-31 or a time such as 2026-01-31T18:00:00Z, got ${JSON.stringify(text.slice(0, 60))}.`,
  );
}
