import { describe, expect, it } from 'vitest';
import { Secret } from '../../../src/values/secret.js';
import { openOverHttp } from '../../support/service.js';

const ROUNDS = 300;

describe('authentication', () => {
  it('takes as long for a key that is almost right as for one that is all wrong', async () => {
    const under = await openOverHttp();
    const right = under.test.project.key.reveal();
    const almost = right.slice(0, -1) + (right.endsWith('1') ? '2' : '1');
    const wrong = `fwk_${'z'.repeat(right.length - 4)}`;
    const times: Record<'almost' | 'wrong', number[]> = { almost: [], wrong: [] };
    const time = async (kind: 'almost' | 'wrong', key: string): Promise<void> => {
      const start = performance.now();
      await under.service.currentBatch({ credential: new Secret(key) }).catch(() => undefined);
      times[kind].push(performance.now() - start);
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      await time('almost', almost);
      await time('wrong', wrong);
    }
    await under.dispose();
    const median = (values: number[]): number => values.sort((a, b) => a - b)[ROUNDS / 2] ?? 0;
    // In turn and by their medians, so that only a real difference shows; a compare that stops early is far below this.
    const ratio = median(times.almost) / median(times.wrong);
    expect(ratio).toBeGreaterThan(0.7);
    expect(ratio).toBeLessThan(1.4);
  });
});
