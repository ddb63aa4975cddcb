/** Time: a clock that can be given, UTC days, ISO text. */

/** Milliseconds since the Unix epoch, from wherever the caller says. */
export interface Clock {
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

declare const brand: unique symbol;

/** A day in UTC, `YYYY-MM-DD`. Daily caps count by it. */
export type UtcDay = string & { readonly [brand]: 'UtcDay' };

/** The latest that was written: what happens together has the same time. */
const latest = { ms: Number.NaN, text: '' };

/** ISO 8601 in UTC with milliseconds: `2026-01-31T12:00:00.000Z`. */
export function isoTime(ms: number): string {
  if (ms !== latest.ms) Object.assign(latest, { ms, text: new Date(ms).toISOString() });
  return latest.text;
}

const MS_PER_DAY = 86_400_000;
const DAYS_PER_WEEK = 7;

/** The week of a day, as ISO 8601 names it: `2026-W05`. It belongs to the year in which its Thursday lies. */
export function isoWeek(day: UtcDay): string {
  const date = new Date(day);
  const thursdayMs = date.getTime() + (4 - (date.getUTCDay() || DAYS_PER_WEEK)) * MS_PER_DAY;
  const year = new Date(thursdayMs).getUTCFullYear();
  const week = Math.floor((thursdayMs - Date.UTC(year, 0, 1)) / (DAYS_PER_WEEK * MS_PER_DAY)) + 1;
  return `${year}-W${String(week).padStart(2, '0')}`;
}

/** A day, or a time with its zone: without one it would be another time on every machine. */
const TIME = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/i;

/** Milliseconds; a day begins at midnight UTC. @returns `undefined` for what is no such text, and for days that no month has */
export function parseTime(text: string): number | undefined {
  const [, day] = TIME.exec(text) ?? [];
  const ms = Date.parse(text);
  if (day === undefined || Number.isNaN(ms)) return undefined;
  return new Date(day).toISOString().startsWith(day) ? ms : undefined;
}

export const utcDay = (ms: number): UtcDay => isoTime(ms).slice(0, 10) as UtcDay;
