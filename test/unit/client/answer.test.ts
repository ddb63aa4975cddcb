/** Limits on answers: an answer larger than the request can need is refused before it is parsed. */
import { describe, expect, it } from 'vitest';
import { maxAnswerBytes, overBounds } from '../../../src/client/answer.js';

const least = maxAnswerBytes({ operation: 'burn' });
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe('maxAnswerBytes', () => {
  it('begins small for one burn, and grows with the request and the page', () => {
    expect(least).toBe(262_144);
    const body = '{"proof":{"a":[1,2]}}';
    expect(maxAnswerBytes({ operation: 'burn', body })).toBe(262_144 + 16 * body.length);
    expect(maxAnswerBytes({ operation: 'listBatches', items: 100 })).toBe(8 * 1_048_576 + 100 * 307_200);
    expect(maxAnswerBytes({ operation: 'listBatches', items: 1_000 })).toBe(64 * 1_048_576);
  });
});

describe('overBounds', () => {
  it('lets a proof of 64 levels through within eight more, and no deeper', () => {
    expect(overBounds(nested(72), least)).toBeUndefined();
    expect(overBounds(nested(73), least)).toBe('JSON that is nested deeper than 72 levels');
  });

  it('does not take what stands side by side for nested', () => {
    for (const one of ['{}', '[]', '{"a":[]}'])
      expect(overBounds(`[${Array.from({ length: 100 }, () => one).join()}]`, least)).toBeUndefined();
  });

  it('counts nothing within texts, also after an escaped quote', () => {
    expect(overBounds(JSON.stringify([`"${nested(100)}${','.repeat(20_000)}\\`]), least)).toBeUndefined();
  });

  it('counts values of all lists together', () => {
    const list = (length: number): string => `[${Array.from({ length }, () => '1').join()}]`;
    expect(overBounds(`[${list(2_000)},${list(2_000)}]`, least)).toBeUndefined();
    expect(overBounds(`[${list(2_000)},${list(2_100)}]`, least)).toBe('JSON of more than 4096 values');
  });
});
