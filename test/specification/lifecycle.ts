/** States and transitions of a batch, and the operations that show them (service specification, sections 3, 4.3 to 4.5 and 7). */
import { expect } from 'vitest';
import type { Api, Batch } from './api.js';
import { it } from './cases.js';
import { balanceOf, drain, sendLamports, supplyOf, treasuryOf } from './chain-reading.js';
import type { Project } from './in-process-service.js';
import { approved, burning } from './requests.js';

async function stopped(api: Api, project: Project, key: string): Promise<Batch> {
  const beforeSending = async (nth: number): Promise<void> => {
    // Before the second list the operator's SOL is drained to pay for some of the accounts, not for all.
    if (nth === 2) await drain(api, project.operator, 12_000_000n);
  };
  await api.beside({ beforeSending }, async (starved) => {
    const answer = await starved.initBatch(project, burning(1, 2, 3, 4, 5, 6), key);
    answer.refused(500, 'ERR_BATCH_INIT_FAILED');
  });
  return (await api.currentBatch(project)).done() ?? expect.fail('There is no batch.');
}

/** Every distinct view of the current batch that a reader could have had while `act` ran. */
export async function viewsDuring(
  api: Api,
  project: Project,
  act: (watched: Api) => Promise<unknown>,
): Promise<readonly (Batch | null)[]> {
  const views: (Batch | null)[] = [];
  const look = async (): Promise<void> => {
    const view = (await api.currentBatch(project)).done();
    if (JSON.stringify(view) !== JSON.stringify(views.at(-1))) views.push(view);
  };
  await api.beside({ afterCommit: look }, async (watched) => void (await act(watched)));
  return views;
}

export function lifecycle(): void {
  it('3: "AVAILABLE_TO_QUEUE — Created, not yet finalized for execution." contract 1.2: "If set-up fails midway, the batch stays so with `initResult.failedTxMsg`"', async (api) => {
    const project = await api.register();
    const batch = await stopped(api, project, 'stopped');
    expect([batch.status, batch.executeResult]).toEqual(['AVAILABLE_TO_QUEUE', undefined]);
    expect((await api.getBatch(project, batch.id)).done()).toEqual(batch);
    const early = await api.executeBatch(project, { batchId: batch.id, signedTx: 'AAAA' });
    early.refused(409, 'ERR_BATCH_NOT_FINALIZED');
    const { total, totalSuccessful, totalFailed, successfulExecutions, ...result } =
      batch.initResult ?? expect.fail();
    expect(result).toEqual({
      failedTxMsg: expect.stringMatching(/\S/),
      batchIndex: Number(batch.batchIndex),
    });
    expect(batch.batchIndex).toMatch(/^[1-9]\d*$/);
    expect([totalSuccessful + totalFailed, totalFailed > 0]).toEqual([total, true]);
    expect(successfulExecutions.flatMap(({ txHashes }) => txHashes)).toHaveLength(totalSuccessful);
  });

  it('3, 7: "FAILED — Execution failed." "A batch with status FAILED reports details in `executeResult`"', async (api) => {
    const project = await api.register({ vaultTokens: '10' });
    const inits = [
      (await api.initBatch(project, burning(7))).done(),
      (await api.initBatch(project, burning(8))).done(),
    ];
    for (const init of inits) {
      const answer = await api.executeBatch(project, approved(project, init));
      // "check both the HTTP status and the batch `status`"
      expect(answer.status).toBe(200);
    }
    const batches = await Promise.all(
      inits.map(async ({ batch }) => (await api.getBatch(project, batch.id)).done()),
    );
    expect(batches.map(({ status }) => status)).toEqual(['EXECUTED', 'FAILED']);
    expect(batches[1]?.executeResult).toMatchObject({
      totalFailed: 1,
      failedOnTransactionIndex: 0,
      failedStartTransactionIndex: 0,
      failedTxMsg: expect.stringMatching(/\S/),
    });
    expect(await balanceOf(api, project, project.vaultAddress)).toBe(3_000_000n);
    // "After EXECUTED or FAILED a batch may stop being current." Here it does at once.
    expect((await api.currentBatch(project)).done()).toBeNull();
  });

  it('3: AVAILABLE_TO_QUEUE → FINALIZED — "initResult becomes present"', async (api) => {
    const project = await api.register();
    const views = await viewsDuring(api, project, (watched) => watched.initBatch(project, burning(1, 2)));
    const batches = views.filter((view) => view !== null);
    expect(
      batches.map(({ status }) => status).filter((status, index, all) => status !== all[index - 1]),
    ).toEqual(['AVAILABLE_TO_QUEUE', 'FINALIZED']);
    for (const { status, initResult } of batches)
      expect(initResult !== undefined).toBe(status === 'FINALIZED');
  });

  it('3: FINALIZED → EXECUTED or FAILED — "executeResult becomes present", and no other move', async (api) => {
    const project = await api.register({ vaultTokens: '10' });
    const first = (await api.initBatch(project, burning(7))).done();
    const second = (await api.initBatch(project, burning(8))).done();
    for (const [init, end] of [
      [first, 'EXECUTED'],
      [second, 'FAILED'],
    ] as const) {
      const seen: Batch[] = [];
      const look = async (): Promise<void> =>
        void seen.push((await api.getBatch(project, init.batch.id)).done());
      await api.beside({ afterCommit: look }, async (watched) => {
        (await watched.executeBatch(project, approved(project, init))).done();
      });
      for (const { status, executeResult } of seen) expect(executeResult !== undefined).toBe(status === end);
      expect([...new Set(seen.map(({ status }) => status))]).toEqual(['FINALIZED', end]);
    }
  });

  it('3, 4.4: "the current batch is the most recent batch of the token that has not reached a final state"', async (api) => {
    const project = await api.register();
    const current = async () => (await api.currentBatch(project)).done()?.id;
    const older = (await api.initBatch(project, burning(1))).done();
    expect(await current()).toBe(older.batch.id);
    const newer = (await api.initBatch(project, burning(1))).done();
    expect(await current()).toBe(newer.batch.id);
    (await api.executeBatch(project, approved(project, newer))).done();
    expect(await current()).toBe(older.batch.id);
  });

  it('4.3: "Success: flywheel batch (2.5)." — for the id in any case of its letters', async (api) => {
    const project = await api.register();
    const { id } = (await api.initBatch(project, burning(1))).done().batch;
    const batch = (await api.getBatch(project, id)).done();
    expect((await api.getBatch(project, id.toUpperCase())).done()).toEqual(batch);
  });

  it('4.4: "The batch is determined from the authenticated API key (its token)." — the same for every key of the token', async (api) => {
    const { id } = (await api.initBatch(api.project, burning(1))).done().batch;
    for (const scope of ['burn', 'airdrop'] as const) {
      const { key } = await api.service.createKey({ scopes: [scope], proofTypes: [] });
      expect((await api.currentBatch(key)).done()?.id).toBe(id);
    }
  });

  it('4.5: "Status of a batch can be polled with 4.3 and 4.4 after calling init or execute." — init burns nothing, execute what it says', async (api) => {
    const project = await api.register();
    const supply = await supplyOf(api, project);
    const init = (await api.initBatch(project, burning(1, 2, 4))).done();
    const { pipelines: _, ...batch } = init.batch;
    expect([batch.status, await supplyOf(api, project)]).toEqual(['FINALIZED', supply]);
    expect((await api.getBatch(project, batch.id)).done()).toEqual(batch);
    expect((await api.currentBatch(project)).done()).toEqual(batch);
    const { result } = (await api.executeBatch(project, approved(project, init))).done();
    expect((await api.getBatch(project, batch.id)).done()).toMatchObject({
      status: 'EXECUTED',
      executeResult: result,
    });
    expect(result).toMatchObject({ total: 3, totalSuccessful: 3, totalFailed: 0 });
    expect(supply - (await supplyOf(api, project))).toBe(7_000_000n);
  });

  it('contract 1.2: "Another init with the same idempotency key continues where set-up stopped."', async (api) => {
    const project = await api.register();
    const batch = await stopped(api, project, 'stopped');
    await sendLamports(api, treasuryOf(api), project.operator, 1_000_000_000n);
    const again = await api.initBatch(project, burning(1, 2, 3, 4, 5, 6), 'stopped');
    const done = again.done().batch;
    expect([done.id, done.status, again.replayed]).toEqual([batch.id, 'FINALIZED', false]);
    const [landed = [], all = []] = [batch, done].map(({ initResult }) => initResult?.successfulExecutions);
    expect(landed.length).toBeGreaterThan(0);
    expect(all.slice(0, landed.length)).toEqual(landed);
    expect(done.initResult).not.toHaveProperty('failedTxMsg');
    const supply = await supplyOf(api, project);
    (await api.executeBatch(project, approved(project, again.done()))).done();
    expect(supply - (await supplyOf(api, project))).toBe(21_000_000n);
    expect((await api.currentBatch(project)).done()).toBeNull();
  });

  it('2.5: batchIndex — the next index of the multisig, where other batches were faster', async (api) => {
    const project = await api.register();
    const taken: string[] = [];
    const beforeSending = async (nth: number): Promise<void> => {
      if (nth < 3) taken.push((await api.initBatch(project, burning(1))).done().batch.batchIndex);
    };
    await api.beside({ beforeSending }, async (slower) => {
      const { batch } = (await slower.initBatch(project, burning(2))).done();
      expect([...taken, batch.batchIndex]).toEqual(['1', '2', '3']);
      expect(batch).toMatchObject({ status: 'FINALIZED', initResult: { batchIndex: 3, totalFailed: 0 } });
    });
  });

  for (const hasExpired of [false, true])
    it(`2.5: batchIndex — the next index, where the server died before it used its own${hasExpired ? ' and its transaction has expired' : ''}`, async (api) => {
      const project = await api.register();
      await api.beside({ dies: 'before sending' }, async (dead) => {
        expect((await dead.initBatch(project, burning(1, 2), 'late')).status).toBe(500);
      });
      const faster = (await api.initBatch(project, burning(3, 4))).done();
      if (hasExpired) await api.service.expireBlockhashes();
      const late = (await api.initBatch(project, burning(1, 2), 'late')).done();
      expect([faster, late].map(({ batch }) => batch.batchIndex)).toEqual(['1', '2']);
      const { result } = (await api.executeBatch(project, approved(project, late))).done();
      expect(result).toMatchObject({ total: 2, totalSuccessful: 2 });
    });

  it('contract 1.2: set-up signs its transactions again where their blockhash expires on the way', async (api) => {
    const project = await api.register();
    const beforeSending = async (nth: number): Promise<void> => {
      if (nth < 3) await api.service.expireBlockhashes();
    };
    await api.beside({ beforeSending }, async (slow) => {
      const { batch } = (await slow.initBatch(project, burning(1, 2, 3, 4, 5, 6))).done();
      expect(batch.initResult).toMatchObject({ totalFailed: 0 });
    });
  });
}
