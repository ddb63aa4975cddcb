/** Flywheel batches from init to their end. */
import { randomUUID } from 'node:crypto';
import { Message } from '@solana/web3.js';
import { expect, it } from 'vitest';
import type { Answer, Api, InitBatchResult } from '../support/api.js';
import { balanceOf, lamportsOf, supplyOf } from '../support/chain-reading.js';
import type { Project } from '../support/in-process-service.js';
import {
  aBurnRequest,
  aPipeline,
  approved,
  burnAction,
  burning,
  canonicalHash,
  signVote,
  someWallet,
} from '../support/requests.js';

const UNIT = 1_000_000n;

/** What a batch has cost so far, in lamports. */
function costOf({ http }: Answer): { readonly paid: bigint; readonly reclaimed: bigint } {
  const found = /rent-paid=(\d+);rent-reclaimed=(\d+)/.exec(http.headers['x-batch-cost'] ?? '');
  return { paid: BigInt(found?.[1] ?? -1), reclaimed: BigInt(found?.[2] ?? -1) };
}

export function batches(under: () => Api): void {
  const init = async (project: Project, ...amounts: number[]): Promise<InitBatchResult> =>
    (await under().initBatch(project, burning(...amounts))).done();
  const execute = (project: Project, started: InitBatchResult) =>
    under().executeBatch(project, approved(project, started));

  /** So many transactions, in bundles. */
  const bundlesOf = (count: number) => {
    const { bundleSize } = under().service;
    return Array.from({ length: Math.ceil(count / bundleSize) }, (_, at) => ({
      bundleId: expect.stringMatching(/^[0-9a-f]{64}$/),
      txHashes: new Array(Math.min(bundleSize, count - at * bundleSize)).fill(expect.any(String)),
    }));
  };

  it('goes from nothing over FINALIZED to EXECUTED, and gives its rent back', async () => {
    const api = under();
    const [project, recipient] = [await api.register(), someWallet()];
    expect((await api.currentBatch(project)).done()).toBeNull();
    const airdrop = { action: 'AIRDROP', toAddress: recipient, amount: 3 };
    const pipelines = [
      aPipeline([burnAction(2.5)], { payload: '{"b":1,"a":2}' }),
      aPipeline([airdrop, { action: 'MEMO', message: 'thanks' }], { type: 'WATCH_AD' }),
    ];
    const supply = await supplyOf(api, project);
    const started = (await api.initBatch(project, { pipelines })).done();
    const { pipelines: compiled, ...batch } = started.batch;
    const { tokenId, flywheelId, mintAddress, multisig, vaultAddress } = project;
    expect(batch).toMatchObject({
      ...{ status: 'FINALIZED', vaultIndex: '0', initResult: { totalFailed: 0 } },
      ...{ tokenId, flywheelId, mintAddress, multisig, vaultAddress },
    });
    expect(batch.executeResult).toBeUndefined();
    expect(compiled.map(({ type, payload, actions }) => ({ type, payload, actions }))).toEqual(pipelines);
    expect(compiled[0]?.proofHash).toBe(canonicalHash({ a: 2, b: 1 }));
    for (const text of compiled.flatMap(({ instructions }) => instructions)) {
      const { instructions, accountKeys } = Message.from(Buffer.from(text, 'base64'));
      expect([instructions.length, accountKeys[0]?.toBase58()]).toEqual([1, vaultAddress]);
    }
    expect(await supplyOf(api, project)).toBe(supply);
    expect((await api.getBatch(project, batch.id)).done()).toEqual(batch);
    expect((await api.currentBatch(project)).done()).toEqual(batch);

    const executed = await execute(project, started);
    const { result } = executed.done();
    expect(executed.done()).toEqual({
      batchId: batch.id,
      result: { total: 2, totalSuccessful: 2, totalFailed: 0, successfulExecutions: bundlesOf(2) },
    });
    const { paid, reclaimed } = costOf(executed);
    expect([paid > 0n, reclaimed]).toEqual([true, paid]);
    expect(supply - (await supplyOf(api, project))).toBe(2_500_000n);
    expect(await balanceOf(api, project, recipient)).toBe(3n * UNIT);
    const ended = (await api.getBatch(project, batch.id)).done();
    expect([ended.status, ended.executeResult]).toEqual(['EXECUTED', result]);
    expect(ended.dateUpdated >= batch.dateUpdated).toBe(true);
    expect((await api.currentBatch(project)).done()).toBeNull();
  });

  it('executes once, however often it is asked', async () => {
    const api = under();
    const project = await api.register();
    const started = await init(project, 1);
    const first = (await execute(project, started)).done();
    const supply = await supplyOf(api, project);
    expect((await execute(project, started)).done()).toEqual(first);
    expect(await supplyOf(api, project)).toBe(supply);
  });

  it('executes once for many at the same time', async () => {
    const api = under();
    const project = await api.register();
    const before = await supplyOf(api, project);
    const started = await init(project, 1, 1);
    const answers = await Promise.all(Array.from({ length: 8 }, () => execute(project, started)));
    const done = answers.filter(({ status }) => status === 200);
    expect(done.length).toBeGreaterThan(0);
    for (const answer of done) expect(answer.done().result.totalSuccessful).toBe(2);
    for (const answer of answers) if (answer.status !== 200) answer.refused(409, 'ERR_BATCH_IN_PROGRESS');
    expect(before - (await supplyOf(api, project))).toBe(2n * UNIT);
  });

  it('has the most recent unfinished batch as the current one', async () => {
    const project = await under().register();
    const [older, newer] = [await init(project, 1), await init(project, 1)];
    const current = async () => (await under().currentBatch(project)).done()?.id;
    expect(await current()).toBe(newer.batch.id);
    (await execute(project, newer)).done();
    expect(await current()).toBe(older.batch.id);
    (await execute(project, older)).done();
    expect(await current()).toBeUndefined();
  });

  it('ends FAILED when a transaction fails, says where, and stays so', async () => {
    const api = under();
    const project = await api.register({ vaultTokens: '10' });
    const [first, failing] = [await init(project, 7), await init(project, 1, 2, 7)];
    (await execute(project, first)).done();
    const value = (await execute(project, failing)).done();
    // The three are one bundle, which lands whole or not at all; on a cluster each is one of its own.
    const landed = api.service.bundleSize > 1 ? 0 : 2;
    expect(value.result).toMatchObject({
      ...{ total: 3, totalSuccessful: landed, totalFailed: 3 - landed },
      ...{ successfulExecutions: bundlesOf(landed), failedTxMsg: expect.any(String) },
      ...{ failedStartTransactionIndex: landed, failedOnTransactionIndex: 2 },
    });
    expect(await balanceOf(api, project, project.vaultAddress)).toBe(landed === 0 ? 3n * UNIT : 0n);
    const batch = (await api.getBatch(project, failing.batch.id)).done();
    expect([batch.status, batch.executeResult]).toEqual(['FAILED', value.result]);
    expect((await api.currentBatch(project)).done()).toBeNull();
    expect((await execute(project, failing)).done()).toEqual(value);
  });

  it('names the problems of all pipelines at once, and creates nothing', async () => {
    const project = await under().register();
    const pipelines = [
      aPipeline([burnAction(1)], { type: 'NOPE' }),
      aPipeline([burnAction(1)]),
      aPipeline([{ action: 'LOCK' }, burnAction(1e-9)], { payload: '[]' }),
    ];
    const message = (await under().initBatch(project, { pipelines })).refused(400, 'ERR_INVALID_REQUEST');
    for (const place of ['[0].type', '[2].payload', '[2].actions[0]', '[2].actions[1]'])
      expect(message).toContain(`pipelines${place}`);
    expect(message).not.toContain('pipelines[1]');
    expect((await under().currentBatch(project)).done()).toBeNull();
  });

  it('checks vault and caps before anything is created, and holds the caps from then on', async () => {
    const api = under();
    const poor = await api.register({ vaultTokens: '5' });
    const short = (await api.initBatch(poor, burning(6))).refused(400, 'ERR_INSUFFICIENT_FUNDS');
    expect(short).toContain(poor.vaultAddress);
    const capped = await api.register({ dailyBurn: '5', dailyAirdrop: '1' });
    const airdrop = { action: 'AIRDROP', toAddress: someWallet(), amount: 1.1 };
    for (const action of [burnAction(5.1), airdrop]) {
      const answer = await api.initBatch(capped, { pipelines: [aPipeline([action])] });
      answer.refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    }
    expect((await api.currentBatch(capped)).done()).toBeNull();
    expect((await init(capped, 5)).batch.status).toBe('FINALIZED');
    (await api.initBatch(capped, burning(0.1))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
  });

  it("executes nothing but this batch's approval, signed by the owner", async () => {
    const api = under();
    const project = await api.register();
    const [started, other] = [await init(project, 1), await init(project, 1)];
    const flipped = Buffer.from(approved(project, started).signedTx, 'base64');
    flipped[flipped.length - 1] = (flipped.at(-1) ?? 0) ^ 1;
    for (const signedTx of [
      'AAAA',
      started.proposalApproveTx,
      approved(project, other).signedTx,
      flipped.toString('base64'),
    ]) {
      const answer = await api.executeBatch(project, { batchId: started.batch.id, signedTx });
      answer.refused(400, 'ERR_INVALID_SIGNED_TX');
    }
    expect((await api.getBatch(project, started.batch.id)).done().status).toBe('FINALIZED');
    expect((await execute(project, started)).done().result.totalSuccessful).toBe(1);
  });

  it('issues a fresh approval for a batch whose first has expired', async () => {
    const api = under();
    const project = await api.register();
    const started = await init(project, 1);
    await api.service.expireBlockhashes();
    (await execute(project, started)).refused(400, 'ERR_APPROVAL_EXPIRED');
    const fresh = (await api.issueApproval(project, started.batch.id)).done();
    expect(fresh.proposalApproveTx).not.toBe(started.proposalApproveTx);
    expect((await execute(project, fresh)).done().result.totalSuccessful).toBe(1);
  });

  it('cancels a batch that waits for its owner, and gives rent and cap back', async () => {
    const api = under();
    const project = await api.register({ dailyBurn: '5' });
    const started = await init(project, 2, 3);
    (await api.burn(project, aBurnRequest(1))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    const before = await supplyOf(api, project);
    const cancelled = await api.cancelBatch(project, started.batch.id);
    expect(cancelled.done()).toMatchObject({
      ownerVoteNeeded: false,
      batch: {
        status: 'FAILED',
        executeResult: { totalSuccessful: 0, totalFailed: 2, failedTxMsg: 'cancelled' },
      },
    });
    const { paid, reclaimed } = costOf(cancelled);
    expect([paid > 0n, reclaimed]).toEqual([true, paid]);
    expect((await api.cancelBatch(project, started.batch.id)).done()).toEqual(cancelled.done());
    expect((await execute(project, started)).done().result.totalFailed).toBe(2);
    expect(await supplyOf(api, project)).toBe(before);
    expect((await init(project, 5)).batch.status).toBe('FINALIZED');
  });

  it("cancels an approved batch with the owner's vote only, after which it runs no more", async () => {
    const api = under();
    const project = await api.register({ vaultTokens: '10' });
    const [first, failing] = [await init(project, 7), await init(project, 4, 4)];
    (await execute(project, first)).done();
    expect((await execute(project, failing)).done().result.totalFailed).toBeGreaterThan(0);
    const operator = await lamportsOf(api, project.operator);
    const asked = (await api.cancelBatch(project, failing.batch.id)).done() as unknown as CancelAsked;
    expect(asked.ownerVoteNeeded).toBe(true);
    const signedTx = signVote(project, asked.cancelTx);
    const ended = (await api.cancelBatch(project, failing.batch.id, { signedTx })).done();
    expect(ended).toMatchObject({ ownerVoteNeeded: false, batch: { dateCancelled: expect.any(String) } });
    expect(await lamportsOf(api, project.operator)).toBeGreaterThan(operator);
  });

  it('finds no batch for an id that is none, nor for what is no id', async () => {
    for (const batchId of [randomUUID(), '1', 'CURRENT', `${randomUUID()}0`])
      (await under().getBatch(under().project, batchId)).refused(404, 'ERR_BATCH_NOT_FOUND');
  });
}

interface CancelAsked {
  readonly ownerVoteNeeded: boolean;
  readonly cancelTx: string;
}
