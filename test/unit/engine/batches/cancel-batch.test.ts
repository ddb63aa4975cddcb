/** Cancelling a batch: depending on its state it is rejected, closed, and its cap and rent are returned. */

import { afterEach, describe, expect, it } from 'vitest';
import { proposalAddress, transactionAddress } from '../../../../src/chain/squads/addresses.js';
import type { InitBatchResult, Pipeline } from '../../../../src/contract/schemas/batch.js';
import type { Address } from '../../../../src/values/address.js';
import { chainOver } from '../../../support/doubles.js';
import {
  aPipeline,
  burnAction,
  dyingEngine,
  engineBeside,
  lamportsOf,
  openTestEngine,
  passBlocks,
  signApproval,
  type TestEngine,
} from '../../../support/engine.js';

let test: TestEngine;
afterEach(() => test.destroy());

const ones = (count: number): Pipeline[] => Array.from({ length: count }, () => aPipeline([burnAction(1)]));
const call = () => test.project.call();
const init = async (pipelines: Pipeline[], key?: string): Promise<InitBatchResult> =>
  (await test.engine.initBatch({ pipelines }, test.project.call(key ? { idempotencyKey: key } : {}))).value;
const execute = (batch: InitBatchResult, engine = test.engine) =>
  engine.executeBatch(
    { batchId: batch.batch.id, signedTx: signApproval(test.project.owner, batch) } as never,
    call(),
  );
const cancel = (batchId: string, signedTx?: string) =>
  test.engine.cancelBatch({ batchId, ...(signedTx === undefined ? {} : { signedTx }) }, call());
const get = async (batchId: string) => (await test.engine.getBatch({ batchId }, call())).value;
const operator = (): string => test.project.registration.operator;
const used = async () => (await test.engine.status()).usedToday;

async function isOnChain(batchIndex: string): Promise<boolean> {
  const multisig = test.project.registration.multisig as Address;
  const index = BigInt(batchIndex);
  const accounts = await test.chain.getAccounts([
    transactionAddress(multisig, index).address,
    proposalAddress(multisig, index).address,
  ]);
  return accounts.some((account) => account !== null);
}

/** A transaction that landed and failed. */
const failedRecord = {
  ...{
    slot: 1n,
    blockTimeMs: 0,
    error: { kind: 'instruction' as const, index: 0, error: 'InvalidAccountData' },
    logs: [],
  },
  ...{ feeLamports: 5_000n, computeUnits: 0n },
};

describe('cancelBatch', () => {
  it.each([
    ['nothing', 1, 0, false],
    ['the opening', 1, 1, true],
    ['the opening and four pipelines', 2, 1, true],
    ['everything, but nobody knows it', 2, 2, true],
  ])('ends a set-up of which %s has landed', async (_name, nth, sent, onChain) => {
    test = await openTestEngine({ dailyBurn: '10' });
    const before = await lamportsOf(test.chain, operator());
    const input = { pipelines: ones(6) };
    const keyed = test.project.call({ idempotencyKey: 'init-1' });
    await expect(dyingEngine(test, { at: nth, sent }).initBatch(input, keyed)).rejects.toThrow();
    const { value: current } = await test.engine.currentBatch(call());
    expect(await isOnChain(current?.batchIndex ?? '')).toBe(onChain);
    if (!onChain) {
      // Signed transactions that were not sent could still land.
      await expect(cancel(current?.id ?? '')).rejects.toMatchObject({ code: 'ERR_UNAVAILABLE' });
      await passBlocks(test, 150);
    }
    const { value, meta } = await cancel(current?.id ?? '');
    expect(value.batch).toMatchObject({ status: 'FAILED', dateCancelled: expect.any(String) });
    expect([await isOnChain(current?.batchIndex ?? ''), await used()]).toEqual([
      false,
      { burn: '0', airdrop: '0' },
    ]);
    expect(before - (await lamportsOf(test.chain, operator()))).toBe(meta.cost?.operatorLamports);
    // Apart from a few fees the operator paid rent only, which came back.
    expect(meta.cost?.operatorLamports).toBeLessThan(100_000n);
    // Its idempotency key is unused again, and creates another batch.
    const again = await test.engine.initBatch(input, keyed);
    expect([again.meta.replayed, again.value.batch.status]).toEqual([false, 'FINALIZED']);
    expect(again.value.batch.id).not.toBe(current?.id);
  });

  it('goes on when a vote of a cancel that died turns out to have failed on chain', async () => {
    test = await openTestEngine({ dailyBurn: '10' });
    const { batch } = await init(ones(5));
    await expect(
      dyingEngine(test, { at: 1, sent: 0 }).cancelBatch({ batchId: batch.id }, call()),
    ).rejects.toThrow();
    const sent = await test.store.read((tx) => tx.bundles.ofBatch(batch.id));
    const vote = sent.find(({ phase }) => phase === 'CANCEL')?.transactions[0]?.signature;
    await passBlocks(test, 1);
    const chain = chainOver(test.chain, {
      lookUp: async (signatures) => {
        const records = await test.chain.lookUp(signatures);
        return signatures.map((signature, at) =>
          signature === vote ? { ...failedRecord, signature, wire: null } : (records[at] ?? null),
        );
      },
    });
    const { value, meta } = await engineBeside(test, { chain }).cancelBatch({ batchId: batch.id }, call());
    expect(value.batch).toMatchObject({ status: 'FAILED', dateCancelled: expect.any(String) });
    expect([await isOnChain(batch.batchIndex), (await used()).burn]).toEqual([false, '0']);
    expect(meta.cost?.operatorLamports).toBeLessThan(100_000n);
  });

  it('finds out what had landed of an execution that was cut off', async () => {
    test = await openTestEngine({ dailyBurn: '20' });
    const started = await init(ones(9));
    // The operator's approval is its first list, the bundles of the execution are the second.
    await expect(execute(started, dyingEngine(test, { at: 2, sent: 9 }))).rejects.toThrow();
    expect((await get(started.batch.id)).status).toBe('FINALIZED');
    const asked = await cancel(started.batch.id);
    // Everything landed, so there is nothing to cancel.
    expect(asked.value.batch).toMatchObject({
      status: 'EXECUTED',
      executeResult: { total: 9, totalSuccessful: 9, totalFailed: 0 },
    });
    expect(asked.value.batch?.dateCancelled).toBeUndefined();
    expect(await used()).toEqual({ burn: '9', airdrop: '0' });
    expect(await isOnChain(started.batch.batchIndex)).toBe(false);
  });

  it('refuses a batch that is executed, one that is not there, and one that is being executed', async () => {
    test = await openTestEngine();
    const done = await init(ones(1));
    await execute(done);
    await expect(cancel(done.batch.id)).rejects.toMatchObject({
      code: 'ERR_INVALID_REQUEST',
      message: `Batch ${done.batch.id} is EXECUTED, so nothing can be cancelled.`,
    });
    await expect(cancel('5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11')).rejects.toMatchObject({
      code: 'ERR_BATCH_NOT_FOUND',
    });
    const busy = await init(ones(1));
    let refused: unknown;
    const chain = chainOver(test.chain, {
      submitBundles: async (bundles) => {
        refused ??= await cancel(busy.batch.id).catch((error: unknown) => error);
        return test.chain.submitBundles(bundles);
      },
    });
    await execute(busy, engineBeside(test, { chain }));
    expect(refused).toMatchObject({ code: 'ERR_BATCH_IN_PROGRESS', options: { retryAfterSeconds: 1 } });
  });

  it('closes what an execution could not close, and then there is nothing to cancel', async () => {
    test = await openTestEngine({});
    const started = await init(ones(2));
    // The lists before the closing one are the operator's approval and the transactions.
    const result = await execute(started, dyingEngine(test, { at: 3, sent: 0 }));
    expect(result.value.result).toMatchObject({ totalSuccessful: 2, totalFailed: 0 });
    expect(await isOnChain(started.batch.batchIndex)).toBe(true);
    const { value, meta } = await cancel(started.batch.id);
    expect(value.batch).toMatchObject({ status: 'EXECUTED', executeResult: { totalSuccessful: 2 } });
    expect(value.batch?.dateCancelled).toBeUndefined();
    expect(await isOnChain(started.batch.batchIndex)).toBe(false);
    expect(meta.cost?.operatorLamports).toBeLessThan(100_000n);
    await expect(cancel(started.batch.id)).rejects.toMatchObject({ code: 'ERR_INVALID_REQUEST' });
  });
});
