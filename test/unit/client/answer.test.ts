/** Limits on answers: an answer that is too deep or has too many values is refused before it is parsed. */
import { describe, expect, it } from 'vitest';
import { overBounds } from '../../../src/client/answer.js';

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe('overBounds', () => {
  it('lets a proof of 64 levels through within eight more, and no deeper', () => {
    expect(overBounds(nested(72))).toBeUndefined();
    expect(overBounds(nested(73))).toBe('JSON that is nested deeper than 72 levels');
  });

  it('counts nothing within texts, also after an escaped quote', () => {
    expect(overBounds(JSON.stringify([`"${nested(100)}${','.repeat(20_000)}\\`]))).toBeUndefined();
  });

  it('counts values of all lists together', () => {
    const list = (length: number): string => `[${'1,'.repeat(length - 1)}1]`;
    expect(overBounds(`[${list(499_000)},${list(499_000)}]`)).toBeUndefined();
    expect(overBounds(`[${list(501_000)},${list(501_000)}]`)).toBe('JSON of more than 1000000 values');
  });
});
