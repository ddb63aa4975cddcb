/** Options that take a time. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isoTime, parseTime, utcDay } from '../../values/time.js';

/** How many whole days ago a named day began. */
const NAMED_DAYS: Readonly<Record<string, number>> = { today: 0, yesterday: 1 };
const UNITS_MS: Readonly<Record<string, number>> = { min: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time ago, or the midnight with which a named day began, in UTC; `undefined` for what is neither. */
function relativeTime(text: string, nowMs: number): number | undefined {
  const days = NAMED_DAYS[text];
  if (days !== undefined) return Date.parse(utcDay(nowMs - days * (UNITS_MS['d'] ?? 0)));
  const [, count = '', unit = ''] = /^([1-9]\d{0,5})(min|h|d)$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  return unitMs === undefined ? undefined : nowMs - Number(count) * unitMs;
}

/**
 * ISO text in UTC, or `undefined`; a day begins at midnight UTC.
 * @throws `ERR_INPUT_INVALID`
 */
export function timeOption(flag: string, text: string | undefined, nowMs: number): string | undefined {
  if (text === undefined) return undefined;
  const timeMs = relativeTime(text, nowMs) ?? parseTime(text);
  if (timeMs !== undefined) return isoTime(timeMs);
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    `${flag}: expected 24h, yesterday, 2026-01-31 or 2026-01-31T18:00:00Z, got ${JSON.stringify(text.slice(0, 60))}.`,
  );
}
