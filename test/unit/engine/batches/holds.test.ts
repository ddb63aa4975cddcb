import { afterEach, describe, expect, it } from 'vitest';
import { countLandedBundles } from '../../../../src/engine/batches/holds.js';
import type { BatchRecord, BundleRecord } from '../../../../src/store/records.js';
import type { UtcDay } from '../../../../src/values/time.js';
import { aPipeline, burnAction, openTestEngine, type TestEngine } from '../../../support/engine.js';

let opened: TestEngine;
afterEach(() => opened.destroy());

/** Of these transactions, numbered from `first`. */
const bundle = (first: number, count: number): BundleRecord =>
  ({
    first,
    transactions: Array.from({ length: count }, (_, at) => ({ signature: `${first + at}` })),
  }) as unknown as BundleRecord;

describe('countLandedBundles', () => {
  it('counts each pipeline on the day of its block, and holds the rest', async () => {
    opened = await openTestEngine();
    const { engine, project, store } = opened;
    const { value } = await engine.initBatch(
      { pipelines: [1, 2, 4, 8, 16].map((amount) => aPipeline([burnAction(amount)])) },
      project.call(),
    );
    const [before, after] = ['2031-05-01', '2031-05-02'] as UtcDay[] as [UtcDay, UtcDay];
    const counted = await store.transaction(async (tx) => {
      const batch = (await tx.batches.get(value.batch.id)) as BatchRecord;
      await countLandedBundles(tx, batch, [
        { bundle: bundle(0, 2), landedMs: Date.parse(`${before}T23:59:59Z`) },
        { bundle: bundle(2, 1), landedMs: Date.parse(`${after}T00:00:00Z`) },
        { bundle: bundle(3, 1), landedMs: Date.parse(`${after}T00:00:01Z`) },
      ]);
      const used = (day: UtcDay) => tx.usage.used({ tokenId: batch.tokenId, day, kind: 'burn' }, batch.id);
      const [hold] = await tx.usage.holdsOf(batch.id);
      return { before: await used(before), after: await used(after), held: hold?.amount };
    });
    expect(counted).toEqual({ before: 3_000_000n, after: 12_000_000n, held: 16_000_000n });
  });
});
