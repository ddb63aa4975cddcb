/** Time: days change at midnight UTC. */
import { describe, expect, it } from 'vitest';
import { isoTime, isoWeek, type UtcDay, utcDay } from '../../../src/values/time.js';

describe('time', () => {
  it('counts days in UTC', () => {
    const midnight = Date.UTC(2026, 1, 1);
    expect([midnight - 1, midnight].map(utcDay)).toEqual(['2026-01-31', '2026-02-01']);
    expect(isoTime(midnight - 1)).toBe('2026-01-31T23:59:59.999Z');
  });
});

describe('isoWeek', () => {
  it.each([
    ['2026-01-31', '2026-W05'],
    ['2026-02-01', '2026-W05'],
    ['2026-02-02', '2026-W06'],
    // The week of a Thursday's year.
    ['2027-01-01', '2026-W53'],
    ['2024-12-30', '2025-W01'],
    ['2023-01-01', '2022-W52'],
  ])('%s is in %s', (day, week) => {
    expect(isoWeek(day as UtcDay)).toBe(week);
  });
});
