/** Setting a batch up: what a failure halfway leaves, who carries it on, and two who do it at once. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Chain } from '../../../../src/chain/chain.js';
import { transfer } from '../../../../src/chain/system.js';
import { compileLegacyMessage } from '../../../../src/chain/transaction/wire.js';
import type { Address } from '../../../../src/values/address.js';
import { chainOver } from '../../../support/doubles.js';
import {
  aPipeline,
  burnAction,
  engineBeside,
  lamportsOf,
  openTestEngine,
  passBlocks,
  signApproval,
  type TestEngine,
} from '../../../support/engine.js';
import { signTransaction } from '../../../support/sign.js';

let test: TestEngine;
beforeEach(async () => {
  test = await openTestEngine({ dailyBurn: '100' });
});
afterEach(() => test.destroy());

/** Six pipelines: create, six adds and the activation in three bundles. */
const input = { pipelines: [1, 2, 3, 4, 5, 6].map((amount) => aPipeline([burnAction(amount)])) };

/** Moves all but `leave` lamports from the operator to the owner. */
async function drainOperator(leave: bigint): Promise<void> {
  const { registration, owner } = test.project;
  const operator = test.deps.keyring.get(registration.operator as Address);
  const held = await lamportsOf(test.chain, operator.address);
  const { blockhash } = await test.chain.latestBlockhash();
  const instructions = [
    transfer({ from: operator.address, to: owner.address, lamports: held - leave - 5_000n }),
  ];
  const message = compileLegacyMessage({ payer: operator.address, instructions, blockhash });
  expect(await test.chain.submit([signTransaction(message, [operator]).bytes])).toEqual([null]);
}

/** A chain on which the operator is poor from the `nth` list of bundles on. */
function drainingChain(nth: number, leave: bigint): Chain {
  let lists = 0;
  return chainOver(test.chain, {
    submitBundles: async (bundles) => {
      lists += 1;
      if (lists === nth) await drainOperator(leave);
      return test.chain.submitBundles(bundles);
    },
  });
}

describe('setUp', () => {
  it('leaves a batch that tells why it stopped, and carries on with the same key', async () => {
    const call = test.project.call({ idempotencyKey: 'init-1' });
    // Enough for the batch's own accounts and two of the six pipelines.
    const draining = engineBeside(test, { chain: drainingChain(2, 12_000_000n) });
    const stopped = expect(draining.initBatch(input, call)).rejects;
    await stopped.toMatchObject({
      code: 'ERR_BATCH_INIT_FAILED',
      message: expect.stringMatching(/^The set-up of batch [0-9a-f-]{36} stopped: Transaction \d failed: /),
    });
    const { value: current } = await test.engine.currentBatch(call);
    expect(current).toMatchObject({
      status: 'AVAILABLE_TO_QUEUE',
      batchIndex: '1',
      initResult: { total: 8, batchIndex: 1, failedTxMsg: expect.stringContaining('lacks lamports') },
    });
    const { total, totalSuccessful, totalFailed, successfulExecutions } =
      current?.initResult ?? expect.fail();
    expect(totalSuccessful + totalFailed).toBe(total);
    expect(successfulExecutions.flatMap(({ txHashes }) => txHashes)).toHaveLength(totalSuccessful);
    expect(totalFailed).toBeGreaterThan(0);
    expect((await test.engine.status()).usedToday.burn).toBe('21');

    // As long as nothing changes, not even the block: the same failure, told again.
    for (let tries = 0; tries < 3; tries += 1) {
      await expect(test.engine.initBatch(input, call)).rejects.toMatchObject({
        code: 'ERR_BATCH_INIT_FAILED',
        message: expect.stringContaining('lacks lamports'),
      });
    }

    await test.engine.fund({ to: 'operator', sol: '1' });
    const { value, meta } = await test.engine.initBatch(input, call);
    expect(meta.replayed).toBe(false);
    expect(value.batch).toMatchObject({
      id: current?.id,
      status: 'FINALIZED',
      batchIndex: '1',
      initResult: { total: 8, totalSuccessful: 8, totalFailed: 0 },
    });
    expect(value.batch.initResult).not.toHaveProperty('failedTxMsg');
    // What had landed was not done again.
    expect(value.batch.initResult?.successfulExecutions.slice(0, successfulExecutions.length)).toEqual(
      successfulExecutions,
    );
    expect((await test.engine.status()).usedToday.burn).toBe('21');
    const done = await test.engine.executeBatch(
      { batchId: value.batch.id, signedTx: signApproval(test.project.owner, value) },
      call,
    );
    expect(done.value.result).toMatchObject({ totalSuccessful: 6, totalFailed: 0 });
  });

  it('refuses to execute a batch whose set-up is not finished', async () => {
    const call = test.project.call({ idempotencyKey: 'init-1' });
    const draining = engineBeside(test, { chain: drainingChain(1, 900_000n) });
    await expect(draining.initBatch(input, call)).rejects.toMatchObject({ code: 'ERR_BATCH_INIT_FAILED' });
    const { value: batch } = await test.engine.currentBatch(call);
    await expect(
      test.engine.executeBatch({ batchId: batch?.id ?? '', signedTx: 'AAAA' } as never, call),
    ).rejects.toMatchObject({ code: 'ERR_BATCH_NOT_FINALIZED' });
  });

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
