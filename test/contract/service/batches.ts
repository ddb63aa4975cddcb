/** Flywheel batches from init to their end (service specification, sections 3, 4.3 to 4.5; contract, section 1.2). */
import { randomUUID } from 'node:crypto';
import { Message } from '@solana/web3.js';
import { expect, it } from 'vitest';
import { createKeypairSigner, generateKeypair } from '../../../src/chain/transaction/signer.js';
import type { Action, InitBatchResult, Pipeline } from '../../../src/contract/schemas/batch.js';
import type { Address } from '../../../src/values/address.js';
import { proofHash } from '../../../src/values/digest.js';
import type { TestProject } from '../../support/engine.js';
import {
  balanceOf,
  failureOf,
  type ServiceUnderTest,
  signApproval,
  supplyOf,
} from '../../support/service.js';
import { aPipeline } from './examples.js';

const UNIT = 1_000_000n;

export function batches(under: () => ServiceUnderTest): void {
  const init = async (project: TestProject, ...pipelines: Pipeline[]): Promise<InitBatchResult> =>
    (await under().service.initBatch({ pipelines }, project.call())).value;
  const execute = (project: TestProject, { batch, proposalApproveTx }: InitBatchResult) =>
    under().service.executeBatch(
      { batchId: batch.id, signedTx: signApproval(proposalApproveTx, project.owner) },
      project.call(),
    );

  /** So many transactions, in bundles. */
  const bundlesOf = (count: number) => {
    const { bundleSize } = under();
    return Array.from({ length: Math.ceil(count / bundleSize) }, (_, at) => ({
      bundleId: expect.stringMatching(/^[0-9a-f]{64}$/),
      txHashes: new Array(Math.min(bundleSize, count - at * bundleSize)).fill(expect.any(String)),
    }));
  };

  it('goes from nothing over FINALIZED to EXECUTED', async () => {
    const { service, register } = under();
    const project = await register();
    const recipient = createKeypairSigner(generateKeypair()).address;
    expect((await service.currentBatch(project.call())).value).toBeNull();

    const pipelines = [
      aPipeline({ payload: '{"b":1,"a":2}', actions: [{ action: 'BURN', amount: 2.5 }] }),
      aPipeline({
        type: 'WATCH_AD',
        actions: [
          { action: 'AIRDROP', toAddress: recipient, amount: 3 },
          { action: 'MEMO', message: 'thanks' },
        ],
      }),
    ];
    const supply = await supplyOf(under(), project);
    const started = await init(project, ...pipelines);
    expect(started.batch).toMatchObject({
      status: 'FINALIZED',
      tokenId: project.registration.tokenId,
      flywheelId: project.registration.flywheelId,
      mintAddress: project.registration.mintAddress,
      multisig: project.registration.multisig,
      vaultAddress: project.registration.vaultAddress,
      vaultIndex: '0',
      initResult: { totalFailed: 0 },
    });
    expect(started.batch.executeResult).toBeUndefined();
    expect(started.batch.pipelines.map(({ type, payload, actions }) => ({ type, payload, actions }))).toEqual(
      pipelines,
    );
    expect(started.batch.pipelines[0]?.proofHash).toBe(proofHash({ a: 2, b: 1 }));
    for (const { instructions } of started.batch.pipelines) {
      for (const text of instructions) {
        const message = Message.from(Buffer.from(text, 'base64'));
        expect([message.instructions.length, message.accountKeys[0]?.toBase58()]).toEqual([
          1,
          project.registration.vaultAddress,
        ]);
      }
    }
    expect(await supplyOf(under(), project)).toBe(supply);

    const { pipelines: _, ...batch } = started.batch;
    expect((await service.getBatch({ batchId: batch.id }, project.call())).value).toEqual(batch);
    expect((await service.currentBatch(project.call())).value).toEqual(batch);

    const { value, meta } = await execute(project, started);
    expect(value).toEqual({
      batchId: batch.id,
      result: {
        total: 2,
        totalSuccessful: 2,
        totalFailed: 0,
        successfulExecutions: bundlesOf(2),
      },
    });
    expect(meta.cost?.feeLamports).toBeGreaterThan(0n);
    expect(supply - (await supplyOf(under(), project))).toBe(2_500_000n);
    expect(await balanceOf(under(), project, recipient)).toBe(3n * UNIT);

    const ended = (await service.getBatch({ batchId: batch.id }, project.call())).value;
    expect([ended.status, ended.executeResult]).toEqual(['EXECUTED', value.result]);
    expect(ended.dateUpdated >= batch.dateUpdated).toBe(true);
    expect((await service.currentBatch(project.call())).value).toBeNull();
  });

  it('executes once, however often it is asked', async () => {
    const project = await under().register();
    const started = await init(project, aPipeline());
    const first = await execute(project, started);
    const supply = await supplyOf(under(), project);
    const again = await execute(project, started);
    expect(again.value).toEqual(first.value);
    expect(await supplyOf(under(), project)).toBe(supply);
  });

  it('executes once for many at the same time', async () => {
    const project = await under().register();
    const before = await supplyOf(under(), project);
    const started = await init(project, aPipeline(), aPipeline());
    const settled = await Promise.allSettled(Array.from({ length: 8 }, () => execute(project, started)));
    for (const outcome of settled) {
      if (outcome.status === 'rejected')
        expect(outcome.reason).toMatchObject({ code: 'ERR_BATCH_IN_PROGRESS' });
      else expect(outcome.value.value.result.totalSuccessful).toBe(2);
    }
    expect(settled.some(({ status }) => status === 'fulfilled')).toBe(true);
    expect(before - (await supplyOf(under(), project))).toBe(2n * UNIT);
  });

  it('has the most recent unfinished batch as the current one', async () => {
    const { service, register } = under();
    const project = await register();
    const older = await init(project, aPipeline());
    const newer = await init(project, aPipeline());
    const current = async () => (await service.currentBatch(project.call())).value?.id;
    expect(await current()).toBe(newer.batch.id);
    await execute(project, newer);
    expect(await current()).toBe(older.batch.id);
    await execute(project, older);
    expect(await current()).toBeUndefined();
  });

  it('ends FAILED when a transaction fails, and says where', async () => {
    const { service, register } = under();
    const project = await register({ vaultTokens: '10' });
    const all = (amount: number) => aPipeline({ actions: [{ action: 'BURN', amount }] });
    const first = await init(project, all(7));
    const failing = await init(project, all(1), all(2), all(7));
    await execute(project, first);
    const { value } = await execute(project, failing);
    // The three are one bundle, which lands whole or not at all; on a cluster each is one of its own.
    const landed = under().bundleSize > 1 ? 0 : 2;
    expect(value.result).toMatchObject({
      total: 3,
      totalSuccessful: landed,
      totalFailed: 3 - landed,
      successfulExecutions: bundlesOf(landed),
      failedStartTransactionIndex: landed,
      failedOnTransactionIndex: 2,
    });
    const left = await balanceOf(under(), project, project.registration.vaultAddress);
    expect(left).toBe(landed === 0 ? 3n * UNIT : 0n);
    expect(value.result.failedTxMsg).toEqual(expect.any(String));
    const batch = (await service.getBatch({ batchId: failing.batch.id }, project.call())).value;
    expect([batch.status, batch.executeResult]).toEqual(['FAILED', value.result]);
    expect((await service.currentBatch(project.call())).value).toBeNull();
    expect((await execute(project, failing)).value).toEqual(value);
  });

  it('refuses what is not available, not known or not well-formed, and creates nothing', async () => {
    const { service, register } = under();
    const project = await register();
    const refuse = async (...pipelines: unknown[]) =>
      failureOf(service.initBatch({ pipelines: pipelines as Pipeline[] }, project.call()));
    for (const action of ['BUYBACK', 'LOCK', 'UNLOCK']) {
      const error = await refuse(aPipeline(), aPipeline({ actions: [{ action } as Action] }));
      expect([error.code, error.status]).toEqual(['ERR_ACTION_NOT_SUPPORTED', 400]);
      expect(error.message).toMatch(new RegExp(`pipelines\\[1\\]\\.actions\\[0\\].*${action}`));
    }
    const unknown = await refuse(
      aPipeline({ actions: [{ action: 'MINT', amount: 1 } as unknown as Action] }),
    );
    expect([unknown.code, unknown.message]).toEqual([
      'ERR_INVALID_REQUEST',
      expect.stringContaining('pipelines[0].actions[0]'),
    ]);
    expect((await refuse()).code).toBe('ERR_INVALID_REQUEST');
    expect((await refuse(aPipeline({ actions: [] }))).code).toBe('ERR_INVALID_REQUEST');
    expect((await refuse(aPipeline({ type: 'NOPE' }))).code).toBe('ERR_INVALID_PROOF');
    for (const payload of ['not json', '[1]', '{"a":1,"a":2}', '{"a":']) {
      expect([payload, (await refuse(aPipeline({ payload }))).code]).toEqual([payload, 'ERR_INVALID_PROOF']);
    }
    const amount = await refuse(aPipeline({ actions: [{ action: 'BURN', amount: 0.000_000_1 }] }));
    expect([amount.code, amount.message]).toEqual([
      'ERR_INVALID_REQUEST',
      expect.stringContaining('pipelines[0].actions[0]'),
    ]);
    const toAddress = await refuse(
      aPipeline({ actions: [{ action: 'AIRDROP', toAddress: 'nobody' as Address, amount: 1 }] }),
    );
    expect(toAddress.message).toContain('toAddress');
    expect((await service.currentBatch(project.call())).value).toBeNull();
  });

  it('lists the problems of all pipelines at once', async () => {
    const { service, register } = under();
    const project = await register();
    const error = await failureOf(
      service.initBatch(
        {
          pipelines: [
            aPipeline({ type: 'NOPE' }),
            aPipeline(),
            aPipeline({
              payload: '[]',
              actions: [{ action: 'LOCK' } as Action, { action: 'BURN', amount: 1e-9 }],
            }),
          ],
        },
        project.call(),
      ),
    );
    for (const place of [
      'pipelines[0].type',
      'pipelines[2].payload',
      'pipelines[2].actions[0]',
      'pipelines[2].actions[1]',
    ]) {
      expect(error.message).toContain(place);
    }
    expect(error.message).not.toContain('pipelines[1]');
  });

  it('refuses a pipeline that does not fit one transaction, and says how much would', async () => {
    const { service, register } = under();
    const project = await register();
    const actions = Array.from({ length: 60 }, (): Action => ({ action: 'MEMO', message: 'x'.repeat(40) }));
    const error = await failureOf(
      service.initBatch({ pipelines: [aPipeline(), aPipeline({ actions })] }, project.call()),
    );
    expect([error.code, error.status]).toEqual(['ERR_PIPELINE_TOO_LARGE', 400]);
    expect(error.message).toContain('1');
    expect((await service.currentBatch(project.call())).value).toBeNull();
  });

  it('checks vault and caps before anything is created', async () => {
    const { service, register } = under();
    const poor = await register({ vaultTokens: '5' });
    const short = await failureOf(
      service.initBatch(
        { pipelines: [aPipeline({ actions: [{ action: 'BURN', amount: 6 }] })] },
        poor.call(),
      ),
    );
    expect([short.code, short.message]).toEqual([
      'ERR_INSUFFICIENT_FUNDS',
      expect.stringContaining(poor.registration.vaultAddress),
    ]);
    const capped = await register({ dailyBurn: '5', dailyAirdrop: '1' });
    const to = createKeypairSigner(generateKeypair()).address;
    for (const actions of [
      [{ action: 'BURN', amount: 5.1 }],
      [{ action: 'AIRDROP', toAddress: to, amount: 1.1 }],
    ] as Action[][]) {
      const over = await failureOf(service.initBatch({ pipelines: [aPipeline({ actions })] }, capped.call()));
      expect(over.code).toBe('ERR_DAILY_LIMIT_EXCEEDED');
    }
    expect((await service.currentBatch(capped.call())).value).toBeNull();
    const fits = await init(capped, aPipeline({ actions: [{ action: 'BURN', amount: 5 }] }));
    expect(fits.batch.status).toBe('FINALIZED');
    const full = service.initBatch(
      { pipelines: [aPipeline({ actions: [{ action: 'BURN', amount: 0.1 }] })] },
      capped.call(),
    );
    expect((await failureOf(full)).code).toBe('ERR_DAILY_LIMIT_EXCEEDED');
  });

  it("executes nothing but this batch's approval, signed by the owner", async () => {
    const { service, register } = under();
    const project = await register();
    const started = await init(project, aPipeline());
    const other = await init(project, aPipeline());
    const stranger = createKeypairSigner(generateKeypair());
    const signed = signApproval(started.proposalApproveTx, project.owner);
    const flipped = Buffer.from(signed, 'base64');
    flipped[flipped.length - 1] = (flipped.at(-1) ?? 0) ^ 1;
    const bad = [
      'AAAA',
      started.proposalApproveTx,
      signApproval(other.proposalApproveTx, project.owner),
      flipped.toString('base64'),
    ];
    for (const signedTx of bad) {
      const error = await failureOf(
        service.executeBatch({ batchId: started.batch.id, signedTx }, project.call()),
      );
      expect([error.code, error.status]).toEqual(['ERR_INVALID_SIGNED_TX', 400]);
    }
    expect(() => signApproval(started.proposalApproveTx, stranger)).toThrow();
    const notBase64 = service.executeBatch({ batchId: started.batch.id, signedTx: '***' }, project.call());
    expect((await failureOf(notBase64)).code).toBe('ERR_INVALID_REQUEST');
    expect((await service.getBatch({ batchId: started.batch.id }, project.call())).value.status).toBe(
      'FINALIZED',
    );
    expect((await execute(project, started)).value.result.totalSuccessful).toBe(1);
  });

  it('finds no batch for an id that is none, nor for what is no id', async () => {
    const { service, test } = under();
    const missing = await failureOf(service.getBatch({ batchId: randomUUID() }, test.project.call()));
    expect([missing.code, missing.status, missing.exitCode]).toEqual(['ERR_BATCH_NOT_FOUND', 404, 5]);
    for (const batchId of ['1', 'CURRENT', `${randomUUID()}0`]) {
      const refused = await failureOf(service.getBatch({ batchId }, test.project.call()));
      expect([refused.code, refused.status]).toEqual(['ERR_BATCH_NOT_FOUND', 404]);
    }
  });
}
