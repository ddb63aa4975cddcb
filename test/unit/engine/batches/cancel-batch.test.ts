/** Cancelling a batch after a cancel that died, and what a node that is behind does not conclude. */
import { afterEach, describe, expect, it } from 'vitest';
import { proposalAddress, transactionAddress } from '../../../../src/chain/squads/addresses.js';
import type { Address } from '../../../../src/values/address.js';
import { chainOver } from '../../../support/doubles.js';
import {
  aPipeline,
  burnAction,
  engineBeside,
  openTestEngine,
  passBlocks,
  signApproval,
  type TestEngine,
} from '../../../support/engine.js';
import { dyingEngine } from '../dying-engine.js';

let test: TestEngine;
afterEach(() => test.destroy());

const call = () => test.project.call();

const accountsOf = (batchIndex: string): readonly Address[] =>
  [transactionAddress, proposalAddress].map(
    (addressOf) => addressOf(test.project.registration.multisig as Address, BigInt(batchIndex)).address,
  );

const isOnChain = async (batchIndex: string): Promise<boolean> =>
  (await test.chain.getAccounts(accountsOf(batchIndex))).some((account) => account !== null);

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
  it('goes on when a vote of a cancel that died turns out to have failed on chain', async () => {
    test = await openTestEngine({ dailyBurn: '10' });
    const pipelines = Array.from({ length: 5 }, () => aPipeline([burnAction(1)]));
    const { batch } = (await test.engine.initBatch({ pipelines }, call())).value;
    await expect(dyingEngine(test).cancelBatch({ batchId: batch.id }, call())).rejects.toThrow();
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
    expect([await isOnChain(batch.batchIndex), (await test.engine.status()).usedToday.burn]).toEqual([
      false,
      '0',
    ]);
    expect(meta.cost?.operatorLamports).toBeLessThan(100_000n);
  });

  it('concludes nothing from a node that is behind and does not know the batch', async () => {
    test = await openTestEngine();
    const multisig = test.project.registration.multisig as Address;
    const [before = null] = await test.chain.getAccounts([multisig]);
    const { batch } = (await test.engine.initBatch({ pipelines: [aPipeline([burnAction(1)])] }, call()))
      .value;
    const chain = chainOver(test.chain, {
      getAccounts: async (addresses) => addresses.map((one) => (one === multisig ? before : null)),
    });
    await expect(
      engineBeside(test, { chain }).cancelBatch({ batchId: batch.id }, call()),
    ).rejects.toMatchObject({ code: 'ERR_UNAVAILABLE' });
    const { value } = await test.engine.getBatch({ batchId: batch.id }, call());
    expect(value).toMatchObject({ status: 'FINALIZED' });
    expect(value).not.toHaveProperty('dateCancelled');
  });
});

it('a stored result of a failed batch gets no less at a node that is behind', async () => {
  test = await openTestEngine();
  const init = async (...amounts: number[]) =>
    (await test.engine.initBatch({ pipelines: amounts.map((one) => aPipeline([burnAction(one)])) }, call()))
      .value;
  const [started, other] = [await init(1, 1, 1, 1, 600_000), await init(600_000)];
  const { id: batchId, batchIndex } = started.batch;
  const accounts = accountsOf(batchIndex);
  const before = await test.chain.getAccounts(accounts);
  for (const one of [other, started])
    await test.engine.executeBatch(
      { batchId: one.batch.id, signedTx: signApproval(test.project.owner, one) },
      call(),
    );
  const chain = chainOver(test.chain, {
    getAccounts: async (asked) => {
      const states = await test.chain.getAccounts(asked);
      return asked.map((one, at) => before[accounts.indexOf(one)] ?? states[at] ?? null);
    },
  });
  const again = engineBeside(test, { chain }).executeBatch({ batchId }, call());
  await expect(again).rejects.toMatchObject({ code: 'ERR_UNAVAILABLE' });
  const { value } = await test.engine.getBatch({ batchId }, call());
  expect(value.executeResult).toMatchObject({ total: 5, totalSuccessful: 4, totalFailed: 1 });
});
