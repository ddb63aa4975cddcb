/** Cancelling a batch after a cancel that died. */
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
  type TestEngine,
} from '../../../support/engine.js';
import { dyingEngine } from '../dying-engine.js';

let test: TestEngine;
afterEach(() => test.destroy());

const call = () => test.project.call();

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
