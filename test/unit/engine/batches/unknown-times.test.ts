/** Blocks whose time is unknown or far ahead. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { chainOver } from '../../../support/doubles.js';
import {
  aPipeline,
  burnAction,
  engineBeside,
  openTestEngine,
  signApproval,
  type TestEngine,
} from '../../../support/engine.js';

let test: TestEngine;
beforeEach(async () => {
  test = await openTestEngine();
});
afterEach(() => test.destroy());

it('a pipeline whose block has no time was executed when it was found', async () => {
  const { value } = await test.engine.initBatch(
    { pipelines: [aPipeline([burnAction(1)])] },
    test.project.call(),
  );
  const chain = chainOver(test.chain, {
    trace: async (sought) =>
      (await test.chain.trace(sought)).map((trace) =>
        trace.kind === 'landed' ? { ...trace, record: { ...trace.record, blockTimeMs: 0 } } : trace,
      ),
  });
  const engine = engineBeside(test, { chain });
  const body = { batchId: value.batch.id, signedTx: signApproval(test.project.owner, value) };
  await engine.executeBatch(body, test.project.call());
  const query = { batchId: value.batch.id };
  const [item] = (await engine.batchPipelines(query, test.project.call())).value.items;
  expect(item).toMatchObject({ state: 'EXECUTED', txHash: expect.any(String) });
  expect(item?.dateExecuted?.slice(0, 4)).toBe(value.batch.dateCreated.slice(0, 4));
});

it('a block that a node dates far ahead counts today, and so does what comes after it', async () => {
  const { value } = await test.engine.initBatch(
    { pipelines: [aPipeline([burnAction(1)])] },
    test.project.call(),
  );
  const year = 365 * 86_400_000;
  const chain = chainOver(test.chain, {
    pollMs: 1,
    trace: async (sought) =>
      (await test.chain.trace(sought)).map((trace) =>
        trace.kind === 'landed'
          ? { ...trace, record: { ...trace.record, blockTimeMs: trace.record.blockTimeMs + 70 * year } }
          : trace,
      ),
  });
  const body = { batchId: value.batch.id, signedTx: signApproval(test.project.owner, value) };
  await engineBeside(test, { chain }).executeBatch(body, test.project.call());
  const [moved] = (await test.engine.history({}, test.project.call())).value.items;
  expect(moved?.date.slice(0, 4)).toBe(value.batch.dateCreated.slice(0, 4));
  expect((await test.engine.status()).usedToday.burn).toBe('1');
});
