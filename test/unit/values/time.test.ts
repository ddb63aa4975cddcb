/** Time: days change at midnight UTC. */
import { describe, expect, it } from 'vitest';
import { isoTime, utcDay } from '../../../src/values/time.js';

describe('time', () => {
  it('counts days in UTC', () => {
    const midnight = Date.UTC(2026, 1, 1);
    expect([midnight - 1, midnight].map(utcDay)).toEqual(['2026-01-31', '2026-02-01']);
    expect(isoTime(midnight - 1)).toBe('2026-01-31T23:59:59.999Z');
  });
});
