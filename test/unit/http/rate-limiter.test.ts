/** Rate limits are exact: points return one by one, and no window border passes twice as many. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { RateCounts } from '../../../src/contract/served-engine.js';
import { createMemoryCounts, takeRate } from '../../../src/http/rate-limit.js';

const TWO_A_TEN = { name: 'two', points: 2, windowSeconds: 10 };
const TEN_A_SECOND = { name: 'ten', points: 10, windowSeconds: 1 };

describe('takeRate', () => {
  let nowMs: number;
  let counts: RateCounts;

  beforeEach(() => {
    nowMs = 1_000;
    counts = createMemoryCounts(() => nowMs * 1_000);
  });

  const take = (key: string, limit = TEN_A_SECOND) => takeRate(counts, key, limit);
  const many = (count: number, limit = TEN_A_SECOND) =>
    Promise.all(Array.from({ length: count }, () => take('a', limit)));
  const allowed = (decisions: Awaited<ReturnType<typeof many>>): number =>
    decisions.filter((decision) => decision.allowed).length;

  it('allows its points at once, then one each time that one has come back', async () => {
    const one = () => take('a', TWO_A_TEN);
    expect([await one(), await one(), await one()]).toEqual([
      { allowed: true, remaining: 1, resetSeconds: 5, retryAfterSeconds: 0 },
      { allowed: true, remaining: 0, resetSeconds: 10, retryAfterSeconds: 0 },
      { allowed: false, remaining: 0, resetSeconds: 10, retryAfterSeconds: 5 },
    ]);
    nowMs += 4_500;
    expect(await one()).toEqual({ allowed: false, remaining: 0, resetSeconds: 6, retryAfterSeconds: 1 });
    nowMs += 500;
    expect([(await one()).allowed, (await one()).allowed]).toEqual([true, false]);
  });

  it('keeps to a rate that does not divide its period, over a long time', async () => {
    const limit = { name: 'odd', points: 7, windowSeconds: 3 };
    let passed = 0;
    for (let second = 0; second < 300; second += 1) {
      passed += allowed(await many(4, limit));
      nowMs += 1_000;
    }
    expect(passed).toBeGreaterThanOrEqual(700);
    expect(passed).toBeLessThanOrEqual(707);
  });

  it('takes up another limit of the same name without a jump', async () => {
    await many(2, TWO_A_TEN);
    const faster = { ...TWO_A_TEN, points: 100, windowSeconds: 1 };
    expect(await take('a', faster)).toMatchObject({ allowed: false, retryAfterSeconds: 1 });
    nowMs += 1_000;
    expect(allowed(await many(200, faster))).toBe(100);
  });
});
