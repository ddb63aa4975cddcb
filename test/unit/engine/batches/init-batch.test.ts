/** Init: what is left of the operator's SOL. */
import { afterEach, describe, expect, it } from 'vitest';
import {
  aPipeline,
  burnAction,
  engineBeside,
  openTestEngine,
  type TestEngine,
} from '../../../support/engine.js';

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
});
