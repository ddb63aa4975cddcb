/** Members act with other tools while an engine is dead: every answer and every record agrees with the chain. */
import { afterEach, describe, expect, it } from 'vitest';
import { memo } from '../../../../src/chain/small-programs.js';
import type { Instruction } from '../../../../src/chain/transaction/message.js';
import type { InitBatchResult } from '../../../../src/contract/schemas/batch.js';
import type { Address } from '../../../../src/values/address.js';
import { chainOver } from '../../../support/doubles.js';
import {
  aPipeline,
  burnAction,
  engineBeside,
  lamportsOf,
  land,
  openTestEngine,
  signApproval,
  type TestEngine,
} from '../../../support/engine.js';
import {
  activateOutside,
  approveOutside,
  cancelOutside,
  closeOutside,
  executeOutside,
  executionsOutside,
  naming,
  rejectOutside,
} from '../../../support/other-tools.js';
import { dyingEngine } from '../dying-engine.js';

let test: TestEngine;
afterEach(() => test.destroy());

const call = () => test.project.call();
const init = async (count: number): Promise<InitBatchResult> => {
  const pipelines = Array.from({ length: count }, () => aPipeline([burnAction(1)]));
  return (await test.engine.initBatch({ pipelines }, call())).value;
};
const execute = (started: InitBatchResult, engine = test.engine) =>
  engine.executeBatch(
    { batchId: started.batch.id, signedTx: signApproval(test.project.owner, started) },
    call(),
  );
const cancel = (batchId: string, more = {}) => test.engine.cancelBatch({ batchId, ...more }, call());
const books = async () => {
  const { burned, usedToday } = await test.engine.status();
  return [burned, usedToday.burn];
};
/** Executes with an engine that dies after this many bundles were sent; the first list is the operator's approval. */
async function executeAndDie(started: InitBatchResult, sent: number, approvals = 0): Promise<void> {
  await expect(execute(started, dyingEngine(test, { at: 2 - approvals, sent }))).rejects.toThrow();
}

describe('a batch that members go on with while the engine executes it', () => {
  it('is carried to its end, each transaction and each fee counted once', async () => {
    test = await openTestEngine({ dailyBurn: '20' });
    const before = await lamportsOf(test.chain, test.project.registration.operator);
    const started = await init(9);
    let lists = 0;
    let feeOutside = 0n;
    const chain = chainOver(test.chain, {
      submitBundles: async (bundles) => {
        lists += 1;
        // The first list is the operator's approval, the second all bundles of the execution.
        if (lists !== 2) return test.chain.submitBundles(bundles);
        const first = await test.chain.submitBundles(bundles.slice(0, 1));
        const beside = await lamportsOf(test.chain, test.project.registration.operator);
        await executeOutside(test, started, 1);
        feeOutside = beside - (await lamportsOf(test.chain, test.project.registration.operator));
        return [...first, ...(await test.chain.submitBundles(bundles.slice(1)))];
      },
    });
    const { value, meta } = await execute(started, engineBeside(test, { chain }));
    expect(value.result).toMatchObject({ total: 9, totalSuccessful: 9, totalFailed: 0 });
    expect(value.result.successfulExecutions.map(({ txHashes }) => txHashes.length)).toEqual([4, 4]);
    expect(await books()).toEqual(['9', '9']);
    const paid = before - (await lamportsOf(test.chain, test.project.registration.operator));
    expect(paid).toBe((meta.cost?.operatorLamports ?? 0n) + feeOutside);
  });
});

describe('a batch that members have ended with other tools', () => {
  const died = (sent: number) => (batch: InitBatchResult) => executeAndDie(batch, sent);
  const ran = (count: number) => (batch: InitBatchResult) => executeOutside(test, batch, count);
  const approved = (batch: InitBatchResult) => approveOutside(test, batch);
  const cancelled = (batch: InitBatchResult) => cancelOutside(test, batch);
  const closed = (batch: InitBatchResult) => closeOutside(test, batch);

  it.each([
    ['cancelled halfway', 9, [died(1), ran(1), cancelled], 'execute', 5, /./],
    ['cancelled and closed after a part', 9, [died(1), cancelled, closed], 'cancel', 4, /^cancelled$/],
    ['executed and closed', 6, [approved, ran(6), closed], 'execute', 6, null],
    ['executed and closed', 6, [approved, ran(6), closed], 'cancel', 6, null],
    [
      'executed in part, cancelled and closed',
      6,
      [approved, ran(2), cancelled, closed],
      'execute',
      2,
      /closed/,
    ],
  ] as const)('and was %s: of its %i, after %o, %s tells and counts %i', async (...row) => {
    const [, count, deeds, end, done, message] = row;
    test = await openTestEngine({ dailyBurn: '20' });
    const started = await init(count);
    for (const deed of deeds) await deed(started);
    await (end === 'execute' ? execute(started) : cancel(started.batch.id));
    const { value } = await test.engine.getBatch({ batchId: started.batch.id }, call());
    expect(value).toMatchObject({
      status: done === count ? 'EXECUTED' : 'FAILED',
      executeResult: { total: count, totalSuccessful: done, totalFailed: count - done },
    });
    if (message === null) expect(value).not.toHaveProperty('dateCancelled');
    else expect(value.executeResult?.failedTxMsg).toMatch(message);
    expect(await books()).toEqual([String(done), String(done)]);
    expect((await execute(started)).value.result).toEqual(value.executeResult);
  });

  it('counts each of two that one transaction has executed', async () => {
    test = await openTestEngine({ dailyBurn: '20' });
    const both = [await init(1), await init(1)];
    const executions: Instruction[] = [];
    for (const one of both) {
      await approveOutside(test, one);
      executions.push(...(await executionsOutside(test, one)).flat());
    }
    await land(test, test.project.owner, executions);
    for (const one of both) await execute(one);
    expect(await books()).toEqual(['2', '2']);
  });

  it('counts once what was accepted as a gap before, so that the rest has its room', async () => {
    test = await openTestEngine({ dailyBurn: '3' });
    const started = await init(3);
    await executeAndDie(started, 0);
    await executeOutside(test, started, 2);
    const { tokenId, vaultAddress } = test.project.registration;
    const past = await test.chain.history(vaultAddress as Address, {});
    const lost = past.slice(0, 2).map(({ signature }) => ({
      ...{ signature, burned: 1_000_000n, airdropped: 0n, memo: null, dateLanded: null },
    }));
    await test.store.transaction((tx) =>
      tx.gaps.add({ tokenId, dateFound: '2031-05-01T00:00:00.000Z' }, lost),
    );
    await test.engine.gaps.accept(2);
    await execute(started);
    expect(await books()).toEqual(['3', '3']);
  });

  it('is executed when all of it had landed and its accounts were closed since', async () => {
    test = await openTestEngine({ dailyBurn: '20' });
    const { operator } = test.project.registration;
    const before = await lamportsOf(test.chain, operator);
    const started = await init(6);
    await executeAndDie(started, 2);
    await closeOutside(test, started);
    const { value, meta } = await execute(started);
    expect(value.result).toMatchObject({ total: 6, totalSuccessful: 6, totalFailed: 0 });
    // Returned rent is recorded, also if a member closed the accounts.
    expect(meta.cost?.operatorLamports).toBe(before - (await lamportsOf(test.chain, operator)));
    expect((await test.engine.getBatch({ batchId: started.batch.id }, call())).value.status).toBe('EXECUTED');
    expect(await books()).toEqual(['6', '6']);
  });

  it('is executed whatever times and transactions a node invents beside it', async () => {
    test = await openTestEngine({ dailyBurn: '20' });
    const started = await init(6);
    await executeAndDie(started, 2);
    await closeOutside(test, started);
    const members: readonly string[] = [test.project.registration.operator, test.project.owner.address];
    const late = { blockTimeMs: Date.now() + 3_600_000, isAgreed: false };
    const chain = chainOver(test.chain, {
      history: async (account, past) => {
        const listed = await test.chain.history(account, past);
        if (members.includes(account)) return listed;
        const invented = Array.from({ length: 20_001 }, (_, at) => `invented ${at}`);
        const own = { slot: 1, memo: null, failed: false, ...late };
        const lies = invented.map((signature) => ({ ...own, signature }));
        return [...listed.map((one) => ({ ...one, ...late })), ...lies];
      },
    });
    const { value } = await execute(started, engineBeside(test, { chain }));
    expect(value.result).toMatchObject({ total: 6, totalSuccessful: 6 });
  });

  it('does not take for its own what others execute in transactions that name it', async () => {
    test = await openTestEngine({ dailyBurn: '20' });
    const started = await init(3);
    const other = await init(5);
    await approveOutside(test, started);
    await cancelOutside(test, started);
    await closeOutside(test, started);
    await approveOutside(test, other);
    await executeOutside(test, other, 5, [naming(test, started)]);
    const { value } = await execute(started);
    expect(value.result).toMatchObject({ total: 3, totalSuccessful: 0, totalFailed: 3 });
    expect((await execute(other)).value.result).toMatchObject({ totalSuccessful: 5, totalFailed: 0 });
    expect(await books()).toEqual(['5', '5']);
  });

  it('is told from its past also where the logs of what names it are cut', async () => {
    test = await openTestEngine({ dailyBurn: '20' });
    const started = await init(2);
    const other = await init(2);
    await approveOutside(test, started);
    const noise = Array.from({ length: 50 }, () => memo('', []));
    await approveOutside(test, other);
    await executeOutside(test, other, 1, [naming(test, started), ...noise]);
    await executeOutside(test, started, 2);
    await closeOutside(test, started);
    expect((await execute(started)).value.result.totalSuccessful).toBe(2);
  });
});

describe('a batch that the operator has approved with other tools', () => {
  it('counts on every day once it can run, and what is left of it does so until it is cancelled', async () => {
    test = await openTestEngine({ dailyBurn: '20' });
    const started = await init(6);
    await approveOutside(test, started, ['operator']);
    await executeAndDie(started, 1, 1);
    const held = await test.store.read((tx) => tx.batches.find({ id: started.batch.id }));
    expect(held).toMatchObject({ heldFrom: expect.any(String), heldTo: null });
  });
});

describe('a batch of which only a part was set up, and which its members have finished', () => {
  const input = { pipelines: Array.from({ length: 9 }, () => aPipeline([burnAction(1)])) };
  const keyed = () => test.project.call({ idempotencyKey: 'init-1' });

  /** @returns a batch whose engine died in its set-up, and whose proposal members have activated. */
  async function begun(): Promise<InitBatchResult> {
    test = await openTestEngine({ dailyBurn: '20' });
    await expect(dyingEngine(test, { at: 2, sent: 2 }).initBatch(input, keyed())).rejects.toThrow();
    const started = { batch: (await test.engine.currentBatch(call())).value } as InitBatchResult;
    await activateOutside(test, started);
    return started;
  }

  it('is executed where all of it was set up before the engine died', async () => {
    test = await openTestEngine({ dailyBurn: '20' });
    const dying = dyingEngine(test, { at: 2, sent: Number.POSITIVE_INFINITY });
    await expect(dying.initBatch(input, keyed())).rejects.toThrow();
    const started = { batch: (await test.engine.currentBatch(call())).value } as InitBatchResult;
    expect(started.batch.status).toBe('AVAILABLE_TO_QUEUE');
    await approveOutside(test, started);
    await executeOutside(test, started, 9);
    await closeOutside(test, started);
    await cancel(started.batch.id);
    const { value } = await test.engine.getBatch({ batchId: started.batch.id }, call());
    expect(value).toMatchObject({ status: 'EXECUTED', executeResult: { totalSuccessful: 9 } });
    expect(await books()).toEqual(['9', '9']);
  });

  it('tells that its members have made it theirs, and is cancelled', async () => {
    await begun();
    await expect(test.engine.initBatch(input, keyed())).rejects.toMatchObject({
      code: 'ERR_BATCH_INIT_FAILED',
      message: expect.stringContaining('The proposal is Active on chain with 8 transactions.'),
      hint: expect.stringContaining('batch cancel'),
    });
  });

  it('that its members have voted down is refused by name, and is cancelled', async () => {
    const started = await begun();
    await rejectOutside(test, started);
    await expect(test.engine.initBatch(input, keyed())).rejects.toMatchObject({
      ...{ code: 'ERR_INVALID_REQUEST', message: expect.stringContaining('was rejected on chain') },
      hint: expect.stringContaining('batch cancel'),
    });
    expect((await cancel(started.batch.id)).value.ownerVoteNeeded).toBe(false);
  });
});
