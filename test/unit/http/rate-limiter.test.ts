import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OpenRateCounts, openRateCounts } from '../../../src/compose/rate-counts.js';
import {
  createRateLimiter,
  type RateDecision,
  type RateLimiter,
  repeatLimit,
} from '../../../src/http/rate-limiter.js';

const TWO_A_TEN = { name: 'two', points: 2, windowSeconds: 10 };
const TEN_A_SECOND = { name: 'ten', points: 10, windowSeconds: 1 };

describe('createRateLimiter', () => {
  let directory: string;
  let nowMs: number;
  const opened: OpenRateCounts[] = [];

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'flywheel-limits-'));
    nowMs = 1_700_000_000_000;
  });
  afterEach(() => {
    for (const counts of opened.splice(0)) counts.close();
    rmSync(directory, { recursive: true });
  });

  /** A limiter as one more server on the same directory has it. */
  const open = async (): Promise<RateLimiter> => {
    const counts = await openRateCounts(join(directory, 'rate-counts.db'), { nowMs: () => nowMs });
    opened.push(counts);
    return createRateLimiter(counts);
  };
  const many = (limiter: RateLimiter, count: number, limit = TEN_A_SECOND): Promise<RateDecision[]> =>
    Promise.all(Array.from({ length: count }, () => limiter.take('a', limit)));
  const allowed = (decisions: readonly RateDecision[]): number =>
    decisions.filter((decision) => decision.allowed).length;

  it('allows its points at once, then one each time that one has come back', async () => {
    const limiter = await open();
    const one = () => limiter.take('a', TWO_A_TEN);
    expect([await one(), await one(), await one()]).toEqual([
      { allowed: true, remaining: 1, resetSeconds: 5, retryAfterSeconds: 0 },
      { allowed: true, remaining: 0, resetSeconds: 10, retryAfterSeconds: 0 },
      { allowed: false, remaining: 0, resetSeconds: 10, retryAfterSeconds: 5 },
    ]);
    nowMs += 4_500;
    expect(await one()).toEqual({ allowed: false, remaining: 0, resetSeconds: 6, retryAfterSeconds: 1 });
    nowMs += 500;
    expect([(await one()).allowed, (await one()).allowed]).toEqual([true, false]);
    nowMs += 60_000;
    expect(allowed(await many(limiter, 5, TWO_A_TEN))).toBe(2);
  });

  it('has no border at which twice as many pass', async () => {
    const limiter = await open();
    nowMs += 999;
    expect(allowed(await many(limiter, 20))).toBe(10);
    nowMs += 2;
    expect(allowed(await many(limiter, 20))).toBe(0);
    nowMs += 98;
    expect(allowed(await many(limiter, 20))).toBe(1);
  });

  it('keeps to a rate that does not divide its period, over a long time', async () => {
    const limiter = await open();
    const limit = { name: 'odd', points: 7, windowSeconds: 3 };
    let passed = 0;
    for (let second = 0; second < 300; second += 1) {
      passed += allowed(await many(limiter, 4, limit));
      nowMs += 1_000;
    }
    expect(passed).toBeGreaterThanOrEqual(700);
    expect(passed).toBeLessThanOrEqual(707);
  });

  it('counts keys and limits apart', async () => {
    const limiter = await open();
    await many(limiter, 2, TWO_A_TEN);
    expect((await limiter.take('b', TWO_A_TEN)).allowed).toBe(true);
    expect((await limiter.take('a', { ...TWO_A_TEN, name: 'other' })).allowed).toBe(true);
  });

  it('allows exactly its points to many at once, and to several servers together', async () => {
    const limiters = [await open(), await open(), await open()];
    const decisions = await Promise.all(limiters.map((limiter) => many(limiter, 100)));
    expect(allowed(decisions.flat())).toBe(10);
  });

  it('forgets nothing when it is opened again', async () => {
    await many(await open(), 2, TWO_A_TEN);
    for (const counts of opened.splice(0)) counts.close();
    nowMs += 4_000;
    expect(await (await open()).take('a', TWO_A_TEN)).toMatchObject({ allowed: false, retryAfterSeconds: 1 });
  });

  it('locks nobody out for an hour when the clock goes back by one', async () => {
    const limiter = await open();
    await many(limiter, 10);
    nowMs -= 3_600_000;
    expect(await limiter.take('a', TEN_A_SECOND)).toEqual({
      allowed: false,
      remaining: 0,
      resetSeconds: 1,
      retryAfterSeconds: 1,
    });
    nowMs += 100;
    expect(await limiter.take('a', TEN_A_SECOND)).toMatchObject({ allowed: true });
    nowMs += 3_600_000;
    expect(allowed(await many(limiter, 20))).toBe(10);
  });

  it('takes up another limit of the same name without a jump', async () => {
    const limiter = await open();
    await many(limiter, 2, TWO_A_TEN);
    const faster = { ...TWO_A_TEN, points: 100, windowSeconds: 1 };
    expect(await limiter.take('a', faster)).toMatchObject({ allowed: false, retryAfterSeconds: 1 });
    nowMs += 1_000;
    expect(allowed(await many(limiter, 200, faster))).toBe(100);
  });

  it('gives repeats ten times as much', () => {
    expect(repeatLimit(TWO_A_TEN)).toEqual({ name: 'two-repeat', points: 20, windowSeconds: 10 });
  });

  it('refuses rather than forget when requests cannot be written down', async () => {
    const limiter = createRateLimiter({
      take: () => {
        throw new Error('disk full');
      },
    });
    await expect(limiter.take('a', TWO_A_TEN)).rejects.toMatchObject({
      code: 'ERR_UNAVAILABLE',
      options: { retryAfterSeconds: 1 },
    });
  });
});
