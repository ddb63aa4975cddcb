/** Time: days change at midnight UTC. */
import { describe, expect, it } from 'vitest';
import { isoTime, isoWeek, parseTime, type UtcDay, utcDay } from '../../../src/values/time.js';

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
    // ISO weeks belong to the year of their Thursday.
    ['2027-01-01', '2026-W53'],
    ['2024-12-30', '2025-W01'],
    ['2023-01-01', '2022-W52'],
  ])('%s is in %s', (day, week) => {
    expect(isoWeek(day as UtcDay)).toBe(week);
  });
});

it('reads a day or a time with its zone, of the calendar and with four digits of a year', () => {
  expect(['2026-01-31', '2026-01-31T18:00:00+01:00'].map(parseTime)).toEqual([1769817600000, 1769878800000]);
  const others = ['2026-02-30', '2026-01-31T18:00:00', '+275760-09-13T00:00:00Z', '31 Jan 2026', ''];
  expect(others.map(parseTime)).toEqual(others.map(() => undefined));
});
