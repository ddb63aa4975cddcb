/** Ending a batch: by its state on chain it is voted down, closed, and gives back what it held. */

import { afterEach, describe, expect, it } from 'vitest';
import { decodeAccount, PROPOSAL } from '../../../../src/chain/squads/accounts.js';
import { proposalAddress, transactionAddress } from '../../../../src/chain/squads/addresses.js';
import { compileLegacyMessage, signTransaction } from '../../../../src/chain/transaction/compile.js';
import type { Instruction } from '../../../../src/chain/transaction/instruction.js';
import { createInstances } from '../../../../src/compose/instances.js';
import type { InitBatchResult, Pipeline } from '../../../../src/contract/schemas/batch.js';
import { messages } from '../../../../src/engine/batches/batch-context.js';
import { executeTransactions } from '../../../../src/engine/batches/plan-batch.js';
import type { Address } from '../../../../src/values/address.js';
import { Secret } from '../../../../src/values/secret.js';
import { chainOver } from '../../../support/doubles.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  engineBeside,
  lamportsOf,
  openTestEngine,
  passBlocks,
  signApproval,
  signVote,
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

/** Is anything of the batch left on chain? */
async function isOnChain(batchIndex: string): Promise<boolean> {
  const multisig = test.project.registration.multisig as Address;
  const index = BigInt(batchIndex);
  const accounts = await test.chain.getAccounts([
    transactionAddress(multisig, index).address,
    proposalAddress(multisig, index).address,
  ]);
  return accounts.some((account) => account !== null);
}

async function proposalStatus(batchIndex: string): Promise<string | undefined> {
  const multisig = test.project.registration.multisig as Address;
  const [account] = await test.chain.getAccounts([proposalAddress(multisig, BigInt(batchIndex)).address]);
  return account === null || account === undefined
    ? undefined
    : decodeAccount(PROPOSAL, account.data)?.status.kind;
}

/** Signs and lands transactions of the operator outside of the engine, as other tools would. */
async function land(transactions: readonly (readonly Instruction[])[]): Promise<void> {
  const signer = test.deps.keyring.get(operator() as Address);
  const { blockhash } = await test.chain.latestBlockhash();
  const receipt = await test.chain.submit(
    transactions.map(
      (instructions) =>
        signTransaction(compileLegacyMessage({ payer: signer.address, instructions, blockhash }), [signer])
          .bytes,
    ),
  );
  expect(receipt.every((rejection) => rejection === null)).toBe(true);
}

/** Runs so many transactions of an approved batch with other tools. */
async function executeOutside(batchId: string, from: number, count: number): Promise<void> {
  const record = await test.store.read((tx) => tx.batches.get(batchId));
  const flywheel = await test.store.read((tx) => tx.flywheels.ofToken(record?.tokenId ?? ''));
  if (record === undefined || flywheel === undefined) throw new Error('There is no such batch.');
  const all = [...executeTransactions({ flywheel, batchIndex: record.batchIndex }, messages(record))];
  await land(all.slice(from, from + count));
}

/** An engine that dies at its `nth` list of bundles, after so many of them were sent. */
function dyingEngine(nth: number, sent: number) {
  const instances = createInstances();
  let lists = 0;
  const chain = chainOver(test.chain, {
    submitBundles: async (bundles) => {
      lists += 1;
      if (lists < nth) return test.chain.submitBundles(bundles);
      await test.chain.submitBundles(bundles.slice(0, sent));
      instances.release();
      throw new Error('killed');
    },
  });
  return engineBeside(test, { instances, chain });
}

/** Of a transaction that landed and did nothing. */
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
  it('ends a batch that waits for its owner, without the owner, and gives back rent and cap', async () => {
    test = await openTestEngine({ dailyBurn: '10' });
    const before = await lamportsOf(test.chain, operator());
    const { batch } = await init(ones(5));
    expect(await used()).toEqual({ burn: '5', airdrop: '0' });
    const { value, meta } = await cancel(batch.id);
    expect(value).toEqual({
      ownerVoteNeeded: false,
      batch: expect.objectContaining({
        id: batch.id,
        status: 'FAILED',
        dateCancelled: expect.stringMatching(/^\d{4}-/),
        executeResult: {
          total: 5,
          totalSuccessful: 0,
          totalFailed: 5,
          successfulExecutions: [],
          failedTxMsg: 'cancelled',
        },
      }),
    });
    expect(await used()).toEqual({ burn: '0', airdrop: '0' });
    expect(await test.engine.currentBatch(call())).toEqual({ value: null, meta: { replayed: false } });
    expect(await isOnChain(batch.batchIndex)).toBe(false);
    // Nothing but fees is gone, and the books say so.
    expect(meta.cost?.rentReclaimedLamports).toBe(meta.cost?.rentPaidLamports);
    expect(before - (await lamportsOf(test.chain, operator()))).toBe(meta.cost?.feeLamports);
  });

  it('gives the same answer when it is asked twice, and execute then says how it ended', async () => {
    test = await openTestEngine();
    const started = await init(ones(2));
    const { value, meta } = await cancel(started.batch.id);
    const height = await test.chain.blockHeight();
    // Nothing was paid or came back once more.
    expect(await cancel(started.batch.id)).toEqual({ value, meta: { ...meta, replayed: true } });
    const { value: executed } = await execute(started);
    expect(executed.result).toEqual(value.batch?.executeResult);
    expect(await test.chain.blockHeight()).toBe(height);
    expect((await test.engine.status()).burned).toBe('0');
  });

  it('asks for the owner once a batch is approved: a failed one runs no more only after both have voted', async () => {
    test = await openTestEngine({ vaultTokens: '10', dailyBurn: '40' });
    const before = await lamportsOf(test.chain, operator());
    const [first, started] = [await init([aPipeline([burnAction(5)])]), await init(ones(9))];
    await execute(first);
    const { value: failed } = await execute(started);
    expect(failed.result).toMatchObject({ totalSuccessful: 4, totalFailed: 5 });
    expect(await used()).toEqual({ burn: '14', airdrop: '0' });
    const asked = await cancel(started.batch.id);
    expect(asked.value).toEqual({ ownerVoteNeeded: true, cancelTx: expect.any(String) });
    // Nothing was voted on yet, and what still can run still counts.
    expect([await proposalStatus(started.batch.batchIndex), await used()]).toEqual([
      'Approved',
      { burn: '14', airdrop: '0' },
    ]);
    const signed = signVote(test.project.owner, asked.value.cancelTx ?? '');
    for (const bad of [asked.value.cancelTx ?? '', signApproval(test.project.owner, started), 'AAAA'])
      await expect(cancel(started.batch.id, bad)).rejects.toMatchObject({ code: 'ERR_INVALID_SIGNED_TX' });
    const { value } = await cancel(started.batch.id, signed);
    // The verdict of its execution stands.
    expect(value.batch).toMatchObject({
      status: 'FAILED',
      executeResult: failed.result,
      dateCancelled: expect.any(String),
    });
    expect(await used()).toEqual({ burn: '9', airdrop: '0' });
    expect(await isOnChain(started.batch.batchIndex)).toBe(false);
    const record = await test.store.read((tx) => tx.batches.get(started.batch.id));
    const of5 = await test.store.read((tx) => tx.batches.get(first.batch.id));
    const fees = (record?.cost.feeLamports ?? 0n) + (of5?.cost.feeLamports ?? 0n);
    expect(before - (await lamportsOf(test.chain, operator()))).toBe(fees);
  });

  it('counts a failed batch as long as it can run: members land what is left of it, and no cap is passed', async () => {
    test = await openTestEngine({ vaultTokens: '10', dailyBurn: '14' });
    const [first, started] = [await init([aPipeline([burnAction(5)])]), await init(ones(9))];
    await execute(first);
    expect((await execute(started)).value.result).toMatchObject({ totalSuccessful: 4, totalFailed: 5 });
    // Nothing but 5 + 4 has landed, and the rest of the cap is spoken for.
    await expect(test.engine.burn(aBurnRequest(1), call())).rejects.toMatchObject({
      code: 'ERR_DAILY_LIMIT_EXCEEDED',
    });
    await test.engine.fund({ to: 'vault', tokens: '5' });
    await executeOutside(started.batch.id, 4, 5);
    expect(await test.engine.status()).toMatchObject({ burned: '14', usedToday: { burn: '14' } });
    await cancel(started.batch.id);
    expect(await used()).toEqual({ burn: '14', airdrop: '0' });
  });

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
    await expect(dyingEngine(nth, sent).initBatch(input, keyed)).rejects.toThrow();
    const { value: current } = await test.engine.currentBatch(call());
    expect(await isOnChain(current?.batchIndex ?? '')).toBe(onChain);
    const spent = before - (await lamportsOf(test.chain, operator()));
    if (!onChain) {
      // What was signed and not sent could still land.
      await expect(cancel(current?.id ?? '')).rejects.toMatchObject({ code: 'ERR_UNAVAILABLE' });
      await passBlocks(test, 150);
    }
    const { value, meta } = await cancel(current?.id ?? '');
    expect(value.batch).toMatchObject({ status: 'FAILED', dateCancelled: expect.any(String) });
    expect([await isOnChain(current?.batchIndex ?? ''), await used()]).toEqual([
      false,
      { burn: '0', airdrop: '0' },
    ]);
    expect(before - (await lamportsOf(test.chain, operator()))).toBe(meta.cost?.feeLamports);
    // All that was spent by then, but for a few fees, was rent; it is in the books, and it came back.
    const { rentPaidLamports = -1n, rentReclaimedLamports } = meta.cost ?? {};
    expect(rentReclaimedLamports).toBe(rentPaidLamports);
    expect(spent - rentPaidLamports).toBeGreaterThanOrEqual(0n);
    expect(spent - rentPaidLamports).toBeLessThan(100_000n);
    // Its key is free again, and makes another batch.
    const again = await test.engine.initBatch(input, keyed);
    expect([again.meta.replayed, again.value.batch.status]).toEqual([false, 'FINALIZED']);
    expect(again.value.batch.id).not.toBe(current?.id);
  });

  it('goes on when a vote of a cancel that died turns out to have failed on chain', async () => {
    test = await openTestEngine({ dailyBurn: '10' });
    const { batch } = await init(ones(5));
    await expect(dyingEngine(1, 0).cancelBatch({ batchId: batch.id }, call())).rejects.toThrow();
    const sent = await test.store.read((tx) => tx.bundles.ofBatch(batch.id));
    const vote = sent.find(({ phase }) => phase === 'CANCEL')?.transactions[0]?.signature;
    await passBlocks(test, 1);
    const chain = chainOver(test.chain, {
      lookUp: async (signatures) => {
        const records = await test.chain.lookUp(signatures);
        return signatures.map((signature, at) =>
          signature === vote ? { ...failedRecord, signature } : (records[at] ?? null),
        );
      },
    });
    const { value, meta } = await engineBeside(test, { chain }).cancelBatch({ batchId: batch.id }, call());
    expect(value.batch).toMatchObject({ status: 'FAILED', dateCancelled: expect.any(String) });
    expect([await isOnChain(batch.batchIndex), (await used()).burn]).toEqual([false, '0']);
    expect(meta.cost?.rentReclaimedLamports).toBe(meta.cost?.rentPaidLamports);
  });

  it('finds out what had landed of an execution that was cut off', async () => {
    test = await openTestEngine({ dailyBurn: '20' });
    const started = await init(ones(9));
    // The operator's approval is its first list, the bundles of the execution are the second.
    await expect(execute(started, dyingEngine(2, 9))).rejects.toThrow();
    expect((await get(started.batch.id)).status).toBe('FINALIZED');
    const asked = await cancel(started.batch.id);
    // All of it has landed: there is nothing to cancel, and it says so.
    expect(asked.value.batch).toMatchObject({
      status: 'EXECUTED',
      executeResult: { total: 9, totalSuccessful: 9, totalFailed: 0 },
    });
    expect(asked.value.batch?.dateCancelled).toBeUndefined();
    expect(await used()).toEqual({ burn: '9', airdrop: '0' });
    expect(await isOnChain(started.batch.batchIndex)).toBe(false);
  });

  it('counts what members have executed with other tools', async () => {
    test = await openTestEngine({ dailyBurn: '20' });
    const started = await init(ones(6));
    await expect(execute(started, dyingEngine(2, 0))).rejects.toThrow();
    await executeOutside(started.batch.id, 0, 2);
    const asked = await cancel(started.batch.id);
    const { value } = await cancel(
      started.batch.id,
      signVote(test.project.owner, asked.value.cancelTx ?? ''),
    );
    expect(value.batch?.executeResult).toMatchObject({
      total: 6,
      totalSuccessful: 2,
      totalFailed: 4,
      failedTxMsg: 'cancelled',
    });
    expect(await test.engine.status()).toMatchObject({ burned: '2', usedToday: { burn: '2' } });
    const { value: page } = await test.engine.batchPipelines({ batchId: started.batch.id }, call());
    expect(page.items.map(({ state }) => state)).toEqual([
      'EXECUTED',
      'EXECUTED',
      ...Array(4).fill('NOT_EXECUTED'),
    ]);
  });

  it('refuses a batch that is executed, one that is not there, and one that is being executed', async () => {
    test = await openTestEngine();
    const done = await init(ones(1));
    await execute(done);
    await expect(cancel(done.batch.id)).rejects.toMatchObject({
      code: 'ERR_INVALID_REQUEST',
      message: `Batch ${done.batch.id} is EXECUTED; there is nothing to cancel.`,
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
    // The operator's approval and the transactions are the lists before the one that closes.
    const result = await execute(started, dyingEngine(3, 0));
    expect(result.value.result).toMatchObject({ totalSuccessful: 2, totalFailed: 0 });
    expect(await isOnChain(started.batch.batchIndex)).toBe(true);
    const { value, meta } = await cancel(started.batch.id);
    expect(value.batch).toMatchObject({ status: 'EXECUTED', executeResult: { totalSuccessful: 2 } });
    expect(value.batch?.dateCancelled).toBeUndefined();
    expect(await isOnChain(started.batch.batchIndex)).toBe(false);
    expect(meta.cost?.rentReclaimedLamports).toBe(meta.cost?.rentPaidLamports);
    await expect(cancel(started.batch.id)).rejects.toMatchObject({ code: 'ERR_INVALID_REQUEST' });
  });

  it('is carried on when whoever cancelled died', async () => {
    for (const sent of [0, 1]) {
      for (const nth of [1, 2]) {
        test = await openTestEngine({ dailyBurn: '10' });
        const before = await lamportsOf(test.chain, operator());
        const { batch } = await init(ones(5));
        await expect(dyingEngine(nth, sent).cancelBatch({ batchId: batch.id }, call())).rejects.toThrow();
        const { value, meta } = await cancel(batch.id);
        expect(value.batch).toMatchObject({ status: 'FAILED', dateCancelled: expect.any(String) });
        expect([await isOnChain(batch.batchIndex), (await used()).burn]).toEqual([false, '0']);
        expect(meta.cost?.rentReclaimedLamports).toBe(meta.cost?.rentPaidLamports);
        expect(before - (await lamportsOf(test.chain, operator()))).toBe(meta.cost?.feeLamports);
        if (nth < 2 || sent === 0) await test.destroy();
      }
    }
  });
});

describe('executeBatch', () => {
  it('goes on from where members have gone on with other tools, and repeats nothing', async () => {
    test = await openTestEngine({ dailyBurn: '20' });
    const started = await init(ones(7));
    await expect(execute(started, dyingEngine(2, 0))).rejects.toThrow();
    await executeOutside(started.batch.id, 0, 3);
    await passBlocks(test, 150);
    const { value } = await execute(started);
    expect(value.result).toMatchObject({ total: 7, totalSuccessful: 7, totalFailed: 0 });
    expect(value.result.successfulExecutions.map(({ txHashes }) => txHashes.length)).toEqual([4]);
    expect(await test.engine.status()).toMatchObject({ burned: '7', usedToday: { burn: '7' } });
    await test.engine.burn(aBurnRequest(13), call());
    await expect(test.engine.burn(aBurnRequest(0.000001), call())).rejects.toMatchObject({
      code: 'ERR_DAILY_LIMIT_EXCEEDED',
    });
  });
});

describe('issueApproval', () => {
  it('gives the same approval again while no block has passed, and cancel the same vote', async () => {
    test = await openTestEngine();
    const started = await init(ones(1));
    const ask = async () =>
      (await test.engine.issueApproval({ batchId: started.batch.id }, call())).value.proposalApproveTx;
    expect([await ask(), await ask()]).toEqual([started.proposalApproveTx, started.proposalApproveTx]);
    await expect(execute(started, dyingEngine(2, 0))).rejects.toThrow();
    const [{ value: first }, { value: second }] = [
      await cancel(started.batch.id),
      await cancel(started.batch.id),
    ];
    expect(second).toEqual(first);
    const signed = signVote(test.project.owner, second.cancelTx ?? '');
    expect((await cancel(started.batch.id, signed)).value.batch?.status).toBe('FAILED');
  });

  it('gives as many fresh approvals as are asked for, and execute takes any of them', async () => {
    test = await openTestEngine();
    const started = await init(ones(2));
    await passBlocks(test, 150);
    await expect(execute(started)).rejects.toMatchObject({
      code: 'ERR_APPROVAL_EXPIRED',
      message: expect.stringContaining(`POST /v1/flywheel/batch/${started.batch.id}/approval`),
    });
    const { value: second } = await test.engine.issueApproval({ batchId: started.batch.id }, call());
    await passBlocks(test, 1);
    const { value: third } = await test.engine.issueApproval({ batchId: started.batch.id }, call());
    expect(second).toEqual({ ...started, proposalApproveTx: second.proposalApproveTx });
    expect(new Set([started, second, third].map(({ proposalApproveTx }) => proposalApproveTx)).size).toBe(3);
    expect((await execute(second)).value.result.totalSuccessful).toBe(2);
  });

  it('gives none to a key that may not read every proof that would be approved', async () => {
    test = await openTestEngine();
    const started = await init(ones(1));
    const ask = async (proofTypes: string[]) => {
      const { key } = await test.engine.createKey({ scopes: ['burn', 'airdrop'], proofTypes });
      return test.engine.issueApproval({ batchId: started.batch.id }, { credential: new Secret(key) });
    };
    await expect(ask(['WATCH_AD'])).rejects.toMatchObject({ code: 'ERR_INVALID_PROOF' });
    expect((await ask(['PRODUCT_BUY', 'WATCH_AD'])).value.batch.pipelines).toEqual(started.batch.pipelines);
  });

  it('gives none when nothing waits for it', async () => {
    test = await openTestEngine();
    const started = await init(ones(1));
    const other = await test.register({ symbol: 'OTH' });
    const ask = (as = call()) => test.engine.issueApproval({ batchId: started.batch.id }, as);
    await expect(ask(other.call())).rejects.toMatchObject({ code: 'ERR_BATCH_NOT_FOUND' });
    await execute(started);
    await expect(ask()).rejects.toMatchObject({
      code: 'ERR_INVALID_REQUEST',
      message: `Batch ${started.batch.id} is EXECUTED, so there is nothing to approve.`,
    });
  });
});

describe('listBatches and batchPipelines', () => {
  it('show everything there is, newest first, page after page', async () => {
    test = await openTestEngine({ vaultTokens: '7' });
    const [done, waiting, failing] = [await init(ones(1)), await init(ones(2)), await init(ones(6))];
    await execute(done);
    await execute(failing);
    await cancel(waiting.batch.id);
    const { value: page } = await test.engine.listBatches({ limit: 2 }, call());
    expect(page.items.map(({ id, status }) => [id, status])).toEqual([
      [failing.batch.id, 'EXECUTED'],
      [waiting.batch.id, 'FAILED'],
    ]);
    const { value: rest } = await test.engine.listBatches(
      { limit: 2, cursor: page.nextCursor ?? '' },
      call(),
    );
    expect([rest.items.map(({ id }) => id), rest.nextCursor]).toEqual([[done.batch.id], null]);
    const { value: failed } = await test.engine.listBatches({ status: 'FAILED' }, call());
    expect(failed.items.map(({ id }) => id)).toEqual([waiting.batch.id]);
    await expect(test.engine.listBatches({ cursor: '!' }, call())).rejects.toMatchObject({
      code: 'ERR_INVALID_REQUEST',
    });
    const first = await test.engine.batchPipelines({ batchId: failing.batch.id, limit: 4 }, call());
    const second = await test.engine.batchPipelines(
      { batchId: failing.batch.id, limit: 4, cursor: first.value.nextCursor ?? '' },
      call(),
    );
    const items = [...first.value.items, ...second.value.items];
    expect(items.map(({ index, state }) => [index, state])).toEqual(
      Array.from({ length: 6 }, (_, index) => [index, 'EXECUTED']),
    );
    for (const { txHash, dateExecuted } of items) {
      const [record] = await test.chain.lookUp([txHash ?? '']);
      expect(dateExecuted).toBe(new Date(record?.blockTimeMs ?? 0).toISOString());
    }
  });
});
