/**
 * Init requests with many problems, and reading a batch from its first moment (contract, sections 1.2 and 1.3; service
 * specification, section 2.5).
 */
import { expect } from 'vitest';
import { it } from './cases.js';
import { viewsDuring } from './lifecycle.js';
import { aPipeline, burnAction, burning } from './requests.js';

const INDEX = /^[1-9]\d*$/;

export function initProblems(): void {
  it('contract 1.2: "It reports every problem at once, with pipeline and action index." — of every kind', async (api) => {
    const project = await api.register({ vaultTokens: '10', dailyBurn: '5' });
    const height = await api.service.landedCount();
    const answer = await api.initBatch(project, {
      pipelines: [
        aPipeline([burnAction(20)]),
        aPipeline([burnAction(1)], { type: 'NOPE' }),
        aPipeline([burnAction(1)], { payload: '[]' }),
        aPipeline([burnAction(1), { action: 'LOCK' }]),
        aPipeline([burnAction(1), { action: 'MINT' }]),
        aPipeline([burnAction(-1)]),
        aPipeline([burnAction(0.0000001)]),
        aPipeline([{ action: 'AIRDROP', toAddress: 'nobody', amount: 1 }]),
        { ...aPipeline([burnAction(1)]), type: 7 },
        aPipeline(Array(60).fill({ action: 'MEMO', message: 'x'.repeat(40) })),
      ],
    });
    const { message } = answer.body as { message: string };
    expect([answer.status, message]).toEqual([400, expect.any(String)]);
    for (const part of [
      'pipelines[1].type',
      'pipelines[2].payload',
      'pipelines[3].actions[1]',
      'pipelines[4].actions[1]',
      'pipelines[5].actions[0]',
      'pipelines[6].actions[0]',
      'pipelines[7].actions[0]',
      'pipelines[8].type',
      'pipelines[9]',
      'bytes',
      'daily burn cap',
      project.vaultAddress,
    ]) {
      expect(message).toContain(part);
    }
    expect(message).not.toMatch(/pipelines\[0\]\.(type|payload|actions)/);
    expect(await api.service.landedCount()).toBe(height);
    expect((await api.currentBatch(project)).done()).toBeNull();
  });

  it('contract 1.2: "It reports every problem at once" — caps of both kinds and funds in tokens and SOL', async (api) => {
    const project = await api.register({
      vaultTokens: '1',
      vaultSol: '0',
      dailyBurn: '5',
      dailyAirdrop: '3',
    });
    const { owner, vaultAddress } = project;
    const airdrop = { action: 'AIRDROP', toAddress: owner, amount: 4 } as const;
    const answer = await api.initBatch(project, { pipelines: [aPipeline([burnAction(6), airdrop])] });
    const { message } = answer.body as { message: string };
    expect([answer.status, message]).toEqual([400, expect.stringContaining(vaultAddress)]);
    for (const part of ['daily burn cap', 'daily airdrop cap', '10 FLY', 'SOL'])
      expect(message).toContain(part);
  });

  it('contract 1.2: AIRDROP — to nobody who could never spend it: the mint, a program', async (api) => {
    const { mintAddress } = api.project;
    for (const toAddress of [
      mintAddress,
      '11111111111111111111111111111111',
      'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
    ]) {
      const airdrop = { action: 'AIRDROP', toAddress, amount: 1 } as const;
      const answer = await api.initBatch(api.project, { pipelines: [aPipeline([airdrop])] });
      const { message } = answer.body as { message: string };
      expect([answer.status, message]).toEqual([400, expect.stringContaining(toAddress)]);
    }
  });

  it('contract 1.2: AIRDROP — an address off the curve: the reason once, and every address', async (api) => {
    const { vaultAddress, multisig } = api.project;
    const airdrops = [vaultAddress, multisig];
    const pipelines = airdrops.map((toAddress) => aPipeline([{ action: 'AIRDROP', toAddress, amount: 1 }]));
    const answer = await api.initBatch(api.project, { pipelines });
    const { message } = answer.body as { message: string };
    expect([answer.status, message.split('no key exists')]).toEqual([
      400,
      [expect.any(String), expect.any(String)],
    ]);
    for (const part of airdrops) expect(message).toContain(part);
  });

  it('2.5: batchIndex — "Multisig batch index used for execution": never empty, from the first instant that the batch can be read', async (api) => {
    const project = await api.register();
    const views = await viewsDuring(api, project, (watched) =>
      watched.initBatch(project, burning(1, 2, 3, 4, 5)),
    );
    const batches = views.filter((view) => view !== null);
    expect(batches.length).toBeGreaterThan(0);
    for (const { batchIndex } of batches) expect(batchIndex).toMatch(INDEX);
  });

  it('2.5: batchIndex — also when the engine died before anything was on chain', async (api) => {
    const project = await api.register();
    await api.beside({ dies: 'before blockhash' }, async (dead) => {
      expect((await dead.initBatch(project, burning(1), 'dead')).status).toBe(500);
    });
    const current = (await api.currentBatch(project)).done();
    expect(current === null || INDEX.test(current.batchIndex)).toBe(true);
  });

  it('4.3: "404 `ERR_BATCH_NOT_FOUND` when no batch has that id." — a UUID or not', async (api) => {
    for (const id of [
      '1f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11',
      '1',
      'CURRENT',
      'no-batch',
      '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f110',
      'é',
      'a b',
      '%',
      'x'.repeat(200),
    ]) {
      (await api.getBatch(api.project, id)).refused(404, 'ERR_BATCH_NOT_FOUND');
    }
  });

  it('contract 1.6: of a payload no more is read than the largest proof can hold', async (api) => {
    const payloads = [32_700, 1_000_000].map((values) => JSON.stringify({ a: Array(values).fill(1) }));
    const pipelines = payloads.map((payload) => aPipeline([{ action: 'LOCK' }], { payload }));
    const { message } = (await api.initBatch(api.project, { pipelines })).body as { message: string };
    expect(message).toContain('pipelines[1].payload');
    expect(message).not.toContain('pipelines[0].payload');
  });
}
