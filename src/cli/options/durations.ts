/** Options that take a length of time. */
import { FlywheelError } from '../../errors/flywheel-error.js';

const MS: Readonly<Record<string, number>> = { s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 };
const DURATION = /^([0-9]{1,6})(s|min|h|d)$/;
const MAX_MS = 3_650 * 86_400_000;

/**
 * Milliseconds of `90s`, `30min`, `24h` or `7d`; `0` is none.
 * @throws `ERR_INPUT_INVALID`
 */
export function durationOption(flag: string, text: string | undefined, fallbackMs: number): number {
  if (text === undefined) return fallbackMs;
  if (text === '0') return 0;
  const [, count, unit] = DURATION.exec(text) ?? [];
  const ms = Number(count) * (MS[unit ?? ''] ?? Number.NaN);
  if (ms <= MAX_MS) return ms;
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    `${flag}: expected a duration such as 30min, 24h or 7d, at most ten years, got ${JSON.stringify(text.slice(0, 60))}.`,
  );
}
