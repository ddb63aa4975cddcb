/** Init and the operator's remaining SOL. */
import { afterEach, describe, expect, it } from 'vitest';
import { chainOver } from '../../../support/doubles.js';
import {
  aPipeline,
  burnAction,
  engineBeside,
  openTestEngine,
  type TestEngine,
} from '../../../support/engine.js';
import { rawSqlite } from '../../../support/store.js';

let test: TestEngine;
afterEach(() => test.destroy());

describe('initBatch', () => {
  it('leaves the operator its minimum, also when batches are begun at the same time or wait to be set up', async () => {
    const rent = 7_338_880n;
    test = await openTestEngine({}, { limits: { minOperatorLamports: 20_000_000_000n - (rent * 3n) / 2n } });
    const pipelines = [aPipeline([burnAction(1)])];
    const engines = [test.engine, engineBeside(test)];
    const outcomes = await Promise.allSettled(
      engines.map((engine) => engine.initBatch({ pipelines }, test.project.call())),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'ERR_INSUFFICIENT_FUNDS', message: expect.stringContaining('the operator ') },
    });
    expect((await test.engine.state()).batches).toMatchObject({ AVAILABLE_TO_QUEUE: 0, FINALIZED: 1 });
  });

  it.each([
    ['once', 1, 'fulfilled'],
    ['whatever is asked', Number.POSITIVE_INFINITY, 'rejected'],
  ] as const)(
    'does not believe a node that refuses a step %s before it is asked again',
    async (_, times, status) => {
      test = await openTestEngine();
      const { chain } = test;
      let refusals = 0;
      const behind = chainOver(chain, {
        pollMs: 200,
        submitBundles: async (bundles, areNew) => {
          const isOpened = (await test.store.read((tx) => tx.bundles.ofBatch(id()))).length > 1;
          if (!isOpened || areNew?.[0] !== true || refusals >= times)
            return chain.submitBundles(bundles, areNew);
          refusals += 1;
          return [{ index: 0, error: { kind: 'instruction', index: 1, custom: 2006 }, logs: [] }];
        },
      });
      const id = (): string =>
        rawSqlite(`${test.dataDir}/store.db`, 'select id from batches')[0]?.['id'] as string;
      const pipelines = [aPipeline([burnAction(1)])];
      const init = engineBeside(test, { chain: behind }).initBatch({ pipelines }, test.project.call());
      const [outcome] = await Promise.allSettled([init]);
      expect([outcome.status, refusals]).toEqual([status, times === 1 ? 1 : 2]);
    },
  );
});
