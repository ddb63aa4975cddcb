/** What of an answer is read at all: what would take more than the request can need is refused before it is parsed. */
import { describe, expect, it } from 'vitest';
import { answerBounds, overBounds } from '../../../src/client/answer.js';

const least = answerBounds({ operation: 'burn' });
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe('answerBounds', () => {
  it('begins small for one burn, and grows with the request and the page', () => {
    expect(least).toEqual({ maxBytes: 262_144, maxValues: 10_008, maxMembers: 1_001 });
    const body = '{"proof":{"a":[1,2]}}';
    const more = answerBounds({ operation: 'burn', body });
    expect(more.maxBytes).toBe(262_144 + 16 * body.length);
    // The text, two objects, a list and a second value.
    expect([more.maxValues, more.maxMembers]).toEqual([10_000 + 8 * 5, 1_000 + 5]);
    const page = answerBounds({ operation: 'listBatches', items: 100 });
    expect(page.maxBytes).toBe(8 * 1_048_576 + 100 * 307_200);
    expect(answerBounds({ operation: 'listBatches', items: 1_000 }).maxBytes).toBe(64 * 1_048_576);
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

  it('counts values of all lists together, and members of each', () => {
    const list = (length: number): string => `[${Array.from({ length }, () => '1').join()}]`;
    expect(overBounds(list(1_001), least)).toBeUndefined();
    expect(overBounds(list(1_002), least)).toBe('JSON with more than 1001 members in one list');
    const lists = (length: number): string => `[${Array.from({ length }, () => list(999)).join()}]`;
    expect(overBounds(lists(10), least)).toBeUndefined();
    expect(overBounds(lists(11), least)).toBe('JSON of more than 10008 values');
  });
});
