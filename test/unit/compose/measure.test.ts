/** Reports transactions and answers of the chain without changing store or chain. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { measured } from '../../../src/compose/intercept.js';
import type { Measured } from '../../../src/contract/served-engine.js';
import { openTestEngine, type TestEngine } from '../../support/engine.js';

let test: TestEngine;
beforeEach(async () => {
  test = await openTestEngine();
});
afterEach(() => test.destroy());

describe('measured', () => {
  it('measures what is done', async () => {
    const told: Measured[] = [];
    const { store, chain } = measured(test, (one) => void told.push(one));
    await store.transaction(async () => undefined);
    await store.read(async () => undefined);
    await expect(store.transaction(() => Promise.reject(new TypeError('no')))).rejects.toThrow('no');
    const before = await test.chain.expiredHeight();
    const height = await chain.expiredHeight();
    expect([height >= before, height <= (await test.chain.expiredHeight())]).toEqual([true, true]);
    expect(store.copy).toBe(test.store.copy);
    expect(chain.pollMs).toBe(test.chain.pollMs);
    expect(told.map(({ seconds: _seconds, ...what }) => what)).toEqual([
      { what: 'transaction', kind: 'write' },
      { what: 'transaction', kind: 'read' },
      { what: 'transaction', kind: 'write' },
      { what: 'chain', method: 'expiredHeight' },
    ]);
    for (const { seconds } of told) expect(seconds).toBeGreaterThanOrEqual(0);
  });
});
