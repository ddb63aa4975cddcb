/** The meter tells transactions and answers of the chain, and leaves store and chain as they are. */
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
  it('measures what is done', async () => {
    const meter = new Meter();
    const measured: Measured[] = [];
    meter.attach((one) => measured.push(one));
    const store = meter.store(test.store);
    await store.transaction(async () => undefined);
    await store.read(async () => undefined);
    await expect(store.transaction(() => Promise.reject(new TypeError('no')))).rejects.toThrow('no');
    const chain = meter.chain(test.chain);
    expect(await chain.expiredHeight()).toBe(await test.chain.expiredHeight());
    expect(chain.bundleSize).toBe(test.chain.bundleSize);
    expect(measured.map(({ seconds: _seconds, ...what }) => what)).toEqual([
      { what: 'transaction', kind: 'write' },
      { what: 'transaction', kind: 'read' },
      { what: 'transaction', kind: 'write' },
      { what: 'chain', method: 'expiredHeight' },
    ]);
    for (const { seconds } of measured) expect(seconds).toBeGreaterThanOrEqual(0);
  });
});
