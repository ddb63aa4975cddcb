/** Time: an injectable clock, UTC days, ISO text. */

/** Milliseconds since the Unix epoch. */
export interface Clock {
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

declare const brand: unique symbol;

/** A day in UTC, `YYYY-MM-DD`. Daily caps count by it. */
export type UtcDay = string & { readonly [brand]: 'UtcDay' };

/** ISO 8601 in UTC with milliseconds: `2026-01-31T12:00:00.000Z`. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();

const MS_PER_DAY = 86_400_000;
const DAYS_PER_WEEK = 7;

/** ISO 8601 week of a day, `2026-W05`. The week belongs to the year of its Thursday. */
export function isoWeek(day: UtcDay): string {
  const date = new Date(day);
  const thursdayMs = date.getTime() + (4 - (date.getUTCDay() || DAYS_PER_WEEK)) * MS_PER_DAY;
  const year = new Date(thursdayMs).getUTCFullYear();
  const week = Math.floor((thursdayMs - Date.UTC(year, 0, 1)) / (DAYS_PER_WEEK * MS_PER_DAY)) + 1;
  return `${year}-W${String(week).padStart(2, '0')}`;
}

/** A day, or a time with its zone: without a zone the time would depend on the machine. */
const TIME = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/i;

/**
 * Milliseconds since the epoch; a day begins at midnight UTC. @returns `undefined` for other text and for days outside the
 * calendar
 */
export function parseTime(text: string): number | undefined {
  const [, day] = TIME.exec(text) ?? [];
  const ms = Date.parse(text);
  if (day === undefined || Number.isNaN(ms)) return undefined;
  return new Date(day).toISOString().startsWith(day) ? ms : undefined;
}

export const utcDay = (ms: number): UtcDay => isoTime(ms).slice(0, 10) as UtcDay;
