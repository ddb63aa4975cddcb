/** Setting a batch up: partial failures, resuming by another engine, and two engines at once. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chainOver } from '../../../support/doubles.js';
import {
  aPipeline,
  burnAction,
  engineBeside,
  openTestEngine,
  passBlocks,
  type TestEngine,
} from '../../../support/engine.js';

let test: TestEngine;
beforeEach(async () => {
  test = await openTestEngine({ dailyBurn: '100' });
});
afterEach(() => test.destroy());

/** Six pipelines: create, six adds and the activation in three bundles. */
const input = { pipelines: [1, 2, 3, 4, 5, 6].map((amount) => aPipeline([burnAction(amount)])) };

describe('setUp', () => {
  it('takes the next index when another batch was faster', async () => {
    const outcomes = await Promise.all(
      ['a', 'b', 'c', 'd'].map((key) =>
        engineBeside(test).initBatch(input, test.project.call({ idempotencyKey: key })),
      ),
    );
    expect(outcomes.map(({ value }) => value.batch.batchIndex).sort()).toEqual(['1', '2', '3', '4']);
    expect(outcomes.map(({ value }) => value.batch.status)).toEqual(Array(4).fill('FINALIZED'));
    expect(new Set(outcomes.map(({ value }) => value.batch.id)).size).toBe(4);
  });

  it.each([0, 150])(
    'takes another index when it died before using its own, %i blocks later',
    async (blocks) => {
      const call = test.project.call({ idempotencyKey: 'late' });
      const dying = chainOver(test.chain, {
        submitBundles: async () => {
          throw new Error('killed');
        },
      });
      await expect(engineBeside(test, { chain: dying }).initBatch(input, call)).rejects.toThrow();
      await test.engine.initBatch(input, test.project.call({ idempotencyKey: 'faster' }));
      if (blocks > 0) await passBlocks(test, blocks);
      const { value } = await test.engine.initBatch(input, call);
      expect(value.batch).toMatchObject({
        status: 'FINALIZED',
        batchIndex: '2',
        initResult: { totalSuccessful: 8 },
      });
    },
  );

  it('survives blockhashes that run out on the way', async () => {
    const slow = chainOver(test.chain, {
      submitBundles: async (bundles) => {
        if (passed < 2) await passBlocks(test, 150);
        passed += 1;
        return test.chain.submitBundles(bundles);
      },
    });
    let passed = 0;
    const { value } = await engineBeside(test, { chain: slow }).initBatch(input, test.project.call());
    expect(value.batch.initResult).toMatchObject({ total: 8, totalSuccessful: 8, totalFailed: 0 });
  });
});
