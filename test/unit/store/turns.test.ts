/** The queue for one connection. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTurns } from '../../../src/store/turns.js';

describe('createTurns', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('gives turns in the order of asking', async () => {
    const turns = createTurns(100, () => new RangeError('overdue'));
    const order: number[] = [];
    await Promise.all(
      [1, 2, 3].map(async (number) => {
        await turns.take();
        order.push(number);
        turns.give();
      }),
    );
    expect(order).toStrictEqual([1, 2, 3]);
  });

  it('does not mind a long queue as long as it moves', async () => {
    const turns = createTurns(100, () => new RangeError('overdue'));
    await turns.take();
    const waiting = [turns.take(), turns.take(), turns.take()];
    for (const turn of waiting) {
      await vi.advanceTimersByTimeAsync(90);
      turns.give();
      await turn;
    }
  });

  it('sends everyone away when the holder keeps the turn too long, and goes on when it is given back', async () => {
    const turns = createTurns(100, () => new RangeError('overdue'));
    await turns.take();
    const outcomes = Promise.allSettled([turns.take(), turns.take()]);
    await vi.advanceTimersByTimeAsync(100);
    expect((await outcomes).map(({ status }) => status)).toStrictEqual(['rejected', 'rejected']);
    turns.give();
    await turns.take();
    const late = expect(turns.take()).rejects.toThrow('overdue');
    await vi.advanceTimersByTimeAsync(100);
    await late;
  });

  it('leaves no timer behind', async () => {
    const turns = createTurns(100, () => new RangeError('overdue'));
    await turns.take();
    const second = turns.take();
    turns.give();
    await second;
    turns.give();
    expect(vi.getTimerCount()).toBe(0);
  });
});
