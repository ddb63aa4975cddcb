/** States and moves of a batch, and the operations that show them (service specification, sections 3, 4.3 to 4.5 and 7). */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Batch, InitBatchResult } from '../../../src/contract/schemas/batch.js';
import type { Store } from '../../../src/store/store.js';
import { replacing } from '../../support/doubles.js';
import { aPipeline, burnAction, signApproval, type TestProject } from '../../support/engine.js';
import { drain, sendLamports, treasuryOf } from '../../support/payments.js';
import { balanceOf, supplyOf } from '../../support/service.js';
import type { Way } from '../../support/ways.js';

export const burning = (...amounts: number[]) => ({
  pipelines: amounts.map((amount) => aPipeline([burnAction(amount)])),
});

export const approved = (project: TestProject, init: InitBatchResult) => ({
  batchId: init.batch.id,
  signedTx: signApproval(project.owner, init),
});

/** A chain that takes the operator's SOL away before it lands the second list of bundles, so that the set-up stops midway. */
export const chainThatStarves = (way: Way, { registration }: TestProject) => {
  let lists = 0;
  return replacing(way.test.chain, {
    submitBundles: async (bundles) => {
      lists += 1;
      // What is left pays for some of the accounts, and not for all.
      if (lists === 2) await drain(way.test, registration.operator, 12_000_000n);
      return way.test.chain.submitBundles(bundles);
    },
  });
};

/** A batch whose set-up has stopped midway. */
export async function stopped(way: Way, project: TestProject, key: string): Promise<Batch> {
  await way.beside({ chain: chainThatStarves(way, project) }, async (starved) => {
    const answer = await starved.initBatch(project, burning(1, 2, 3, 4, 5, 6), key);
    answer.refused(500, 'ERR_BATCH_INIT_FAILED');
  });
  return (await way.currentBatch(project)).done() ?? expect.fail('There is no batch.');
}

/** Looks at the current batch after each transaction of the store that an operation makes. */
function storeWatchedBy(store: Store, look: () => Promise<void>): Store {
  return replacing(store, {
    transaction: async (work) => {
      const result = await store.transaction(work);
      await look();
      return result;
    },
  });
}

/** All views of the current batch that a reader could have had while `act` ran, without repetitions. */
export async function viewsDuring(
  way: Way,
  project: TestProject,
  act: (watched: Way) => Promise<unknown>,
): Promise<readonly (Batch | null)[]> {
  const views: (Batch | null)[] = [];
  const look = async (): Promise<void> => {
    const view = (await way.currentBatch(project)).done();
    if (JSON.stringify(view) !== JSON.stringify(views.at(-1))) views.push(view);
  };
  await way.beside(
    { store: storeWatchedBy(way.test.store, look) },
    async (watched) => void (await act(watched)),
  );
  return views;
}

export function lifecycle(under: () => Way): void {
  it('3: "AVAILABLE_TO_QUEUE — Created, not yet finalized for execution."', async () => {
    const way = under();
    const project = await way.register();
    const batch = await stopped(way, project, 'stopped');
    expect([batch.status, batch.executeResult]).toEqual(['AVAILABLE_TO_QUEUE', undefined]);
    expect((await way.getBatch(project, batch.id)).done()).toEqual(batch);
    const early = await way.executeBatch(project, { batchId: batch.id, signedTx: 'AAAA' });
    early.refused(409, 'ERR_BATCH_NOT_FINALIZED');
  });

  it('3: "FINALIZED — Finalized, ready for execution approval."', async () => {
    const way = under();
    const project = await way.register();
    const supply = await supplyOf(way, project);
    const init = (await way.initBatch(project, burning(1))).done();
    expect(init.batch.status).toBe('FINALIZED');
    expect((await way.getBatch(project, init.batch.id)).done().status).toBe('FINALIZED');
    expect(await supplyOf(way, project)).toBe(supply);
  });

  it('3: "EXECUTED — Executed successfully."', async () => {
    const way = under();
    const project = await way.register();
    const supply = await supplyOf(way, project);
    const init = (await way.initBatch(project, burning(1, 2))).done();
    (await way.executeBatch(project, approved(project, init))).done();
    expect((await way.getBatch(project, init.batch.id)).done().status).toBe('EXECUTED');
    expect(supply - (await supplyOf(way, project))).toBe(3_000_000n);
  });

  it('3, 7: "FAILED — Execution failed." "A batch with status FAILED reports details in `executeResult`"', async () => {
    const way = under();
    const project = await way.register({ vaultTokens: '10' });
    const inits = [
      (await way.initBatch(project, burning(7))).done(),
      (await way.initBatch(project, burning(8))).done(),
    ];
    for (const init of inits) {
      const answer = await way.executeBatch(project, approved(project, init));
      // "check both the HTTP status and the batch `status`"
      expect(answer.status).toBe(200);
    }
    const batches = await Promise.all(
      inits.map(async ({ batch }) => (await way.getBatch(project, batch.id)).done()),
    );
    expect(batches.map(({ status }) => status)).toEqual(['EXECUTED', 'FAILED']);
    expect(batches[1]?.executeResult).toMatchObject({
      totalFailed: 1,
      failedOnTransactionIndex: 0,
      failedStartTransactionIndex: 0,
      failedTxMsg: expect.stringMatching(/\S/),
    });
    expect(await balanceOf(way, project, project.registration.vaultAddress)).toBe(3_000_000n);
  });

  it('3: AVAILABLE_TO_QUEUE → FINALIZED — "initResult becomes present"', async () => {
    const way = under();
    const project = await way.register();
    const views = await viewsDuring(way, project, (watched) => watched.initBatch(project, burning(1, 2)));
    const batches = views.filter((view) => view !== null);
    expect(
      batches.map(({ status }) => status).filter((status, index, all) => status !== all[index - 1]),
    ).toEqual(['AVAILABLE_TO_QUEUE', 'FINALIZED']);
    for (const { status, initResult } of batches)
      expect(initResult !== undefined).toBe(status === 'FINALIZED');
  });

  it('3: FINALIZED → EXECUTED or FAILED — "executeResult becomes present", and no other move', async () => {
    const way = under();
    const project = await way.register({ vaultTokens: '10' });
    const first = (await way.initBatch(project, burning(7))).done();
    const second = (await way.initBatch(project, burning(8))).done();
    for (const [init, end] of [
      [first, 'EXECUTED'],
      [second, 'FAILED'],
    ] as const) {
      const seen: Batch[] = [];
      const look = async (): Promise<void> =>
        void seen.push((await way.getBatch(project, init.batch.id)).done());
      await way.beside({ store: storeWatchedBy(way.test.store, look) }, async (watched) => {
        (await watched.executeBatch(project, approved(project, init))).done();
      });
      for (const { status, executeResult } of seen) expect(executeResult !== undefined).toBe(status === end);
      expect([...new Set(seen.map(({ status }) => status))]).toEqual(['FINALIZED', end]);
    }
  });

  it('3: a final batch stays as it is', async () => {
    const way = under();
    const project = await way.register();
    const init = (await way.initBatch(project, burning(1))).done();
    (await way.executeBatch(project, approved(project, init))).done();
    const ended = (await way.getBatch(project, init.batch.id)).done();
    (await way.executeBatch(project, approved(project, init))).done();
    expect((await way.getBatch(project, init.batch.id)).done()).toEqual(ended);
  });

  it('3, 4.4: "the current batch is the most recent batch of the token that has not reached a final state"', async () => {
    const way = under();
    const project = await way.register();
    const current = async () => (await way.currentBatch(project)).done()?.id;
    const older = (await way.initBatch(project, burning(1))).done();
    expect(await current()).toBe(older.batch.id);
    const newer = (await way.initBatch(project, burning(1))).done();
    expect(await current()).toBe(newer.batch.id);
    (await way.executeBatch(project, approved(project, newer))).done();
    expect(await current()).toBe(older.batch.id);
  });

  it('3: "After EXECUTED or FAILED a batch may stop being current." — here it does at once', async () => {
    const way = under();
    const project = await way.register({ vaultTokens: '10' });
    const inits = [
      (await way.initBatch(project, burning(7))).done(),
      (await way.initBatch(project, burning(8))).done(),
    ];
    for (const init of inits) (await way.executeBatch(project, approved(project, init))).done();
    expect((await way.currentBatch(project)).done()).toBeNull();
  });

  it('1, 4.3: "Batch status can be read by batch id" — also when it is not the current one any more', async () => {
    const way = under();
    const project = await way.register();
    const ids = [];
    for (const amount of [1, 2]) {
      const init = (await way.initBatch(project, burning(amount))).done();
      (await way.executeBatch(project, approved(project, init))).done();
      ids.push(init.batch.id);
    }
    for (const id of ids)
      expect((await way.getBatch(project, id)).done()).toMatchObject({ id, status: 'EXECUTED' });
  });

  it('4.3: "Success: flywheel batch (2.5)." — for the id in any case of its letters', async () => {
    const way = under();
    const project = await way.register();
    const { id } = (await way.initBatch(project, burning(1))).done().batch;
    const batch = (await way.getBatch(project, id)).done();
    expect((await way.getBatch(project, id.toUpperCase())).done()).toEqual(batch);
  });

  it('4.3: "404 `ERR_BATCH_NOT_FOUND` when no batch has that id."', async () => {
    const way = under();
    (await way.getBatch(way.test.project, randomUUID())).refused(404, 'ERR_BATCH_NOT_FOUND');
  });

  it('4.4: "The batch is determined from the authenticated API key (its token)." — the same for every key of the token', async () => {
    const way = under();
    const { id } = (await way.initBatch(way.test.project, burning(1))).done().batch;
    for (const scope of ['burn', 'airdrop'] as const) {
      const { key } = await way.test.engine.createKey({ scopes: [scope], proofTypes: [] });
      expect((await way.currentBatch(key)).done()?.id).toBe(id);
    }
  });

  it('4.4: "Success: the flywheel batch object (2.5)" — the one that 4.3 shows', async () => {
    const way = under();
    const project = await way.register();
    const { id } = (await way.initBatch(project, burning(1))).done().batch;
    expect((await way.currentBatch(project)).done()).toEqual((await way.getBatch(project, id)).done());
  });

  it('4.4: "or the JSON value `null` when the token has no current batch … a normal, non-error response"', async () => {
    const way = under();
    const answer = await way.currentBatch(await way.register());
    expect([answer.status, answer.done()]).toEqual([200, null]);
  });

  it('4.5: "Status of a batch can be polled with 4.3 and 4.4 after calling init or execute."', async () => {
    const way = under();
    const project = await way.register();
    const init = (await way.initBatch(project, burning(1))).done();
    const { pipelines: _, ...batch } = init.batch;
    expect((await way.getBatch(project, batch.id)).done()).toEqual(batch);
    expect((await way.currentBatch(project)).done()).toEqual(batch);
    const { result } = (await way.executeBatch(project, approved(project, init))).done();
    expect((await way.getBatch(project, batch.id)).done()).toMatchObject({
      status: 'EXECUTED',
      executeResult: result,
    });
  });

  it('contract 1.2: "If set-up fails midway the batch stays `AVAILABLE_TO_QUEUE` with `initResult.failedTxMsg`"', async () => {
    const way = under();
    const project = await way.register();
    const { status, initResult } = await stopped(way, project, 'stopped');
    const { total = 0, totalSuccessful = 0, totalFailed = 0, successfulExecutions = [] } = initResult ?? {};
    expect([status, initResult?.failedTxMsg]).toEqual(['AVAILABLE_TO_QUEUE', expect.stringMatching(/\S/)]);
    expect(totalSuccessful + totalFailed).toBe(total);
    expect(totalFailed).toBeGreaterThan(0);
    expect(successfulExecutions.flatMap(({ txHashes }) => txHashes)).toHaveLength(totalSuccessful);
  });

  it('contract 1.2: "calling init again with the same idempotency key carries on where it stopped"', async () => {
    const way = under();
    const project = await way.register();
    const batch = await stopped(way, project, 'stopped');
    await sendLamports(way.test, treasuryOf(way.test), project.registration.operator, 1_000_000_000n);
    const again = await way.initBatch(project, burning(1, 2, 3, 4, 5, 6), 'stopped');
    const done = again.done().batch;
    expect([done.id, done.status, again.replayed]).toEqual([batch.id, 'FINALIZED', false]);
    const [landed = [], all = []] = [batch, done].map(({ initResult }) => initResult?.successfulExecutions);
    expect(landed.length).toBeGreaterThan(0);
    expect(all.slice(0, landed.length)).toEqual(landed);
    expect(done.initResult).not.toHaveProperty('failedTxMsg');
    const supply = await supplyOf(way, project);
    (await way.executeBatch(project, approved(project, again.done()))).done();
    expect(supply - (await supplyOf(way, project))).toBe(21_000_000n);
    expect((await way.currentBatch(project)).done()).toBeNull();
  });
}
