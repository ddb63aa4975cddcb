/** How long a look-up at the service counts. */
import { expect, it } from 'vitest';
import type { Session } from '../../../src/cli/command.js';
import { seenWithin } from '../../../src/cli/operation/done-there.js';
import { HandClock } from '../../support/chain.js';

it('counts for a second from its beginning, but not by a clock that was set back, nor where it says so', async () => {
  const clock = new HandClock();
  const seen = seenWithin({ context: { clock } } as unknown as Session);
  let looks = 0;
  const looksAfter = async (ms: number, takenMs = 0, counts = true): Promise<number> => {
    clock.timeMs += ms;
    await seen(async () => {
      looks += 1;
      clock.timeMs += takenMs;
      return counts;
    });
    return looks;
  };
  expect(await looksAfter(999)).toBe(0);
  expect(await looksAfter(1, 600)).toBe(1);
  expect(await looksAfter(400, 0, false)).toBe(2);
  expect(await looksAfter(0)).toBe(3);
  expect(await looksAfter(500)).toBe(3);
  expect(await looksAfter(-3_600_000)).toBe(4);
});
