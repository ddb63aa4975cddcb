import { afterEach, describe, expect, it } from 'vitest';
import type { InitBatchResult, Pipeline } from '../../../../src/contract/schemas/batch.js';
import { chainOver, replacing } from '../../../support/doubles.js';
import {
  aPipeline,
  burnAction,
  engineBeside,
  openTestEngine,
  signApproval,
  type TestEngine,
} from '../../../support/engine.js';

let test: TestEngine;
afterEach(() => test.destroy());

const ones = (count: number): Pipeline[] =>
  Array.from({ length: count }, (_, index) => aPipeline([burnAction(1)], { payload: `{"order":${index}}` }));

const init = async (pipelines: Pipeline[]): Promise<InitBatchResult> =>
  (await test.engine.initBatch({ pipelines }, test.project.call())).value;

function gate(): [Promise<void>, () => void] {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return [opened, open];
}

describe('executeBatch', () => {
  it('answers while the accounts of a batch that has just been executed are being closed', async () => {
    test = await openTestEngine();
    const batch = await init(ones(1));
    const [closing, reachClosing] = gate();
    const [answered, letClose] = gate();
    let lists = 0;
    const chain = chainOver(test.chain, {
      submitBundles: async (bundles) => {
        lists += 1;
        // The operator's approval, the execution, the closing.
        if (lists === 3) {
          reachClosing();
          await answered;
        }
        return test.chain.submitBundles(bundles);
      },
    });
    const { store } = test;
    // This engine read the batch before its execution, and acts while it is being closed.
    const late = engineBeside(test, {
      store: replacing(store, { transaction: (work) => closing.then(() => store.transaction(work)) }),
    });
    const input = { batchId: batch.batch.id, signedTx: signApproval(test.project.owner, batch) } as never;
    const second = late.executeBatch(input, test.project.call()).finally(letClose);
    const first = await engineBeside(test, { chain }).executeBatch(input, test.project.call());
    expect(await second).toMatchObject({ value: first.value, meta: { replayed: true } });
  });
});
