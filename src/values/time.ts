/** Time: a clock that can be given, UTC days, ISO text. */

/** Milliseconds since the Unix epoch, from wherever the caller says. */
export interface Clock {
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

declare const brand: unique symbol;

/** A day in UTC, `YYYY-MM-DD`. Daily caps count by it. */
export type UtcDay = string & { readonly [brand]: 'UtcDay' };

/** ISO 8601 in UTC with milliseconds: `2026-01-31T12:00:00.000Z`. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();

export const utcDay = (ms: number): UtcDay => isoTime(ms).slice(0, 10) as UtcDay;
