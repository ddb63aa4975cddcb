/** The meter tells waits, transactions, commits and answers of the chain, and leaves store and chain as they are. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Meter } from '../../../src/compose/measure.js';
import type { Measured } from '../../../src/http/options.js';
import { openTestEngine, type TestEngine } from '../../support/engine.js';

let test: TestEngine;
beforeEach(async () => {
  test = await openTestEngine();
});
afterEach(() => test.destroy());

describe('Meter', () => {
  it('measures what is done, and counts what is open', async () => {
    const meter = new Meter();
    const measured: Measured[] = [];
    meter.attach((one) => measured.push(one));
    const store = meter.store(test.store);
    const open = await store.transaction(async () => meter.transactions);
    await store.read(async () => undefined);
    await expect(store.transaction(() => Promise.reject(new TypeError('no')))).rejects.toThrow('no');
    const chain = meter.chain(test.chain);
    expect(await chain.blockHeight()).toBe(await test.chain.blockHeight());
    expect(chain.bundleSize).toBe(test.chain.bundleSize);
    expect([open, meter.transactions]).toEqual([
      { waiting: 0, open: 1 },
      { waiting: 0, open: 0 },
    ]);
    expect(measured.map(({ seconds: _seconds, ...what }) => what)).toEqual([
      { what: 'wait', kind: 'write' },
      { what: 'transaction', kind: 'write' },
      { what: 'commit' },
      { what: 'wait', kind: 'read' },
      { what: 'transaction', kind: 'read' },
      { what: 'wait', kind: 'write' },
      { what: 'transaction', kind: 'write' },
      { what: 'chain', method: 'blockHeight' },
    ]);
    for (const { seconds } of measured) expect(seconds).toBeGreaterThanOrEqual(0);
  });
});
