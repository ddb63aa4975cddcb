import { afterEach, describe, expect, it } from 'vitest';
import { proposalApprove, proposalCancelV2 } from '../../../../src/chain/squads/builders.js';
import { encodeInstruction } from '../../../../src/chain/squads/instructions.js';
import type { KeypairSigner } from '../../../../src/chain/transaction/sign.js';
import type { InitBatchResult, Pipeline } from '../../../../src/contract/schemas/batch.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import type { Address } from '../../../../src/values/address.js';
import { HandClock } from '../../../support/chain.js';
import { chainOver, replacing } from '../../../support/doubles.js';
import {
  aPipeline,
  burnAction,
  engineBeside,
  lamportsOf,
  landedCount,
  openTestEngine,
  signApproval,
  type TestEngine,
} from '../../../support/engine.js';

import { land } from '../../../support/payments.js';

let test: TestEngine;
afterEach(() => test.destroy());

const ones = (count: number): Pipeline[] =>
  Array.from({ length: count }, (_, index) => aPipeline([burnAction(1)], { payload: `{"order":${index}}` }));

const init = async (pipelines: Pipeline[]): Promise<InitBatchResult> =>
  (await test.engine.initBatch({ pipelines }, test.project.call())).value;

const execute = (batch: InitBatchResult, key?: string) =>
  test.engine.executeBatch(
    { batchId: batch.batch.id, signedTx: signApproval(test.project.owner, batch) } as never,
    test.project.call(key === undefined ? {} : { idempotencyKey: key }),
  );

const height = () => landedCount(test.chain);

const place = ({ batch }: InitBatchResult, member: KeypairSigner) => ({
  multisig: batch.multisig as Address,
  batchIndex: BigInt(batch.batchIndex),
  member: member.address,
});

function gate(): [Promise<void>, () => void] {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return [opened, open];
}

describe('executeBatch', () => {
  it('counts what can run against the caps of every day, from the approval of the operator on', async () => {
    const clock = new HandClock();
    test = await openTestEngine({ dailyBurn: '10' }, { clock });
    const batch = await init(ones(5));
    let lists = 0;
    const chain = chainOver(test.chain, {
      submitBundles: async (bundles) => {
        lists += 1;
        // The first is the operator's approval.
        if (lists > 1) throw new FlywheelError('ERR_UNAVAILABLE', 'The chain is out of reach.');
        return test.chain.submitBundles(bundles);
      },
    });
    const signedTx = signApproval(test.project.owner, batch);
    const broken = engineBeside(test, { chain });
    await expect(
      broken.executeBatch({ batchId: batch.batch.id, signedTx } as never, test.project.call()),
    ).rejects.toMatchObject({ code: 'ERR_UNAVAILABLE' });
    clock.timeMs += 3 * 86_400_000;
    expect((await test.engine.status()).usedToday.burn).toBe('5');
  });

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

  it.each(['rejected', 'cancelled'] as const)('fails a batch that was %s with other tools', async (how) => {
    test = await openTestEngine({ dailyBurn: '100' });
    const { owner, registration } = test.project;
    const start = await lamportsOf(test.chain, registration.operator);
    const batch = await init(ones(2));
    const operator = test.deps.keyring.get(registration.operator as Address);
    if (how === 'rejected') {
      const instruction = proposalApprove(place(batch, owner));
      await land(test, owner, [
        { ...instruction, data: encodeInstruction('proposalReject', { memo: null }) },
      ]);
    } else {
      await land(test, owner, [proposalApprove(place(batch, owner))]);
      await land(test, operator, [proposalApprove(place(batch, operator))]);
      await land(test, owner, [proposalCancelV2(place(batch, owner))]);
      await land(test, operator, [proposalCancelV2(place(batch, operator))]);
    }
    const { value, meta } = await execute(batch);
    expect(value.result).toEqual({
      total: 2,
      totalSuccessful: 0,
      totalFailed: 2,
      successfulExecutions: [],
      failedOnTransactionIndex: 0,
      failedStartTransactionIndex: 0,
      failedTxMsg: `The proposal was ${how} on chain.`,
    });
    expect(await test.engine.status()).toMatchObject({ burned: '0', usedToday: { burn: '0' } });
    // The batch is over, so its rent comes back too.
    const { operatorLamports } = meta.cost ?? expect.fail();
    expect(operatorLamports).toBeLessThan(100_000n);
    const ownFees = how === 'rejected' ? 0n : 10_000n;
    expect(await lamportsOf(test.chain, registration.operator)).toBe(start - operatorLamports - ownFees);
  });

  it('refuses to approve a batch that is not what was planned', async () => {
    test = await openTestEngine();
    const batch = await init(ones(2));
    const transactionAccounts = new Set<string>();
    const chain = chainOver(test.chain, {
      getAccounts: async (addresses) => {
        const accounts = await test.chain.getAccounts(addresses);
        // One byte of the amount in the first transaction's message differs.
        return accounts.map((account, index) => {
          if (index !== 3 || account === null || addresses.length !== 5) return account;
          transactionAccounts.add(addresses[index] ?? '');
          const data = Uint8Array.from(account.data);
          const at = data.length - 6;
          data[at] = (data[at] ?? 0) ^ 1;
          return { ...account, data };
        });
      },
    });
    const signedTx = signApproval(test.project.owner, batch);
    const before = await height();
    await expect(
      engineBeside(test, { chain }).executeBatch(
        { batchId: batch.batch.id, signedTx } as never,
        test.project.call(),
      ),
    ).rejects.toMatchObject({
      code: 'ERR_BATCH_EXECUTE_FAILED',
      message: expect.stringContaining('(transaction 1)'),
    });
    expect(transactionAccounts.size).toBe(1);
    expect(await height()).toBe(before);
    expect((await execute(batch)).value.result.totalSuccessful).toBe(2);
  });
});
