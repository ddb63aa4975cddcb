import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createRateLimiter, type RateCount, type RateCounts } from '../../../src/http/rate-limiter.js';
import { systemClock } from '../../../src/values/time.js';

const TWO_A_TEN = { name: 'two', points: 2, windowSeconds: 10 };

/** Counts that outlive a limiter, as a file would. */
function keptCounts(): RateCounts & { readonly rows: Map<string, RateCount>; writes: number } {
  const rows = new Map<string, RateCount>();
  return {
    rows,
    writes: 0,
    load: (nowMs) => [...rows.values()].filter((row) => row.expiresAtMs > nowMs),
    save(counts) {
      this.writes += 1;
      for (const count of counts) rows.set(count.key, count);
    },
  };
}

describe('createRateLimiter', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000, toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('allows exactly its points in a window, and again after it', async () => {
    const limiter = createRateLimiter({ clock: systemClock });
    const one = () => limiter.consume('a', TWO_A_TEN);
    expect([await one(), await one(), await one()]).toEqual([
      { allowed: true, remaining: 1, resetSeconds: 10 },
      { allowed: true, remaining: 0, resetSeconds: 10 },
      { allowed: false, remaining: 0, resetSeconds: 10 },
    ]);
    vi.advanceTimersByTime(9_500);
    expect(await one()).toEqual({ allowed: false, remaining: 0, resetSeconds: 1 });
    vi.advanceTimersByTime(501);
    expect((await one()).allowed).toBe(true);
  });

  it('counts keys and limits apart', async () => {
    const limiter = createRateLimiter({ clock: systemClock });
    await limiter.consume('a', TWO_A_TEN);
    await limiter.consume('a', TWO_A_TEN);
    expect((await limiter.consume('b', TWO_A_TEN)).allowed).toBe(true);
    expect((await limiter.consume('a', { ...TWO_A_TEN, name: 'other' })).allowed).toBe(true);
  });

  it('allows exactly its points to many at once', async () => {
    const limiter = createRateLimiter({ clock: systemClock });
    const limit = { name: 'ten', points: 10, windowSeconds: 10 };
    const decisions = await Promise.all(Array.from({ length: 200 }, () => limiter.consume('a', limit)));
    expect(decisions.filter((decision) => decision.allowed)).toHaveLength(10);
  });

  it('goes on counting after a restart, until the window ends', async () => {
    const counts = keptCounts();
    const before = createRateLimiter({ clock: systemClock, counts });
    await before.consume('a', TWO_A_TEN);
    await before.consume('a', TWO_A_TEN);
    vi.advanceTimersByTime(4_000);
    const after = createRateLimiter({ clock: systemClock, counts });
    expect(await after.consume('a', TWO_A_TEN)).toEqual({ allowed: false, remaining: 0, resetSeconds: 6 });
    vi.advanceTimersByTime(6_001);
    expect((await after.consume('a', TWO_A_TEN)).allowed).toBe(true);
  });

  it('writes the counts of one turn at once, before the requests go on', async () => {
    const counts = keptCounts();
    const limiter = createRateLimiter({ clock: systemClock, counts });
    const limit = { name: 'many', points: 100, windowSeconds: 10 };
    await Promise.all(Array.from({ length: 50 }, () => limiter.consume('a', limit)));
    expect(counts.writes).toBe(1);
    expect(counts.rows.get('many:a')).toEqual({ key: 'many:a', points: 50, expiresAtMs: 1_010_000 });
  });

  it('refuses rather than forget when counts cannot be written', async () => {
    const limiter = createRateLimiter({
      clock: systemClock,
      counts: {
        load: () => [],
        save: () => {
          throw new Error('disk full');
        },
      },
    });
    await expect(limiter.consume('a', TWO_A_TEN)).rejects.toMatchObject({ code: 'ERR_UNAVAILABLE' });
  });
});
