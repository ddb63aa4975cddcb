/** Two projects of one service: the key of one cannot see, use up, replay or change anything of the other. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Answer } from './api.js';
import { it } from './cases.js';
import { aBurnRequest, approved, burning } from './requests.js';

export function isolation(): void {
  it('finds nothing of another project by an id, a proof or a signature, and says the same as for none', async (api) => {
    const [one, other] = [await api.register(), await api.register()];
    const burned = (await api.burn(one, aBurnRequest(1, { proof: { secret: randomUUID() } }))).done();
    const init = (await api.initBatch(one, burning(1))).done();
    const { id } = init.batch;
    const before = (await api.getBatch(one, id)).done();
    const byId = async (batchId: string) => [
      await api.getBatch(other, batchId),
      await api.executeBatch(other, { ...approved(one, init), batchId }),
      await api.batchPipelines(other, batchId),
      await api.issueApproval(other, batchId),
      await api.cancelBatch(other, batchId),
    ];
    const missing = randomUUID();
    const [theirs, none] = [await byId(id), await byId(missing)];
    const said = (answers: readonly Answer[], of: string) =>
      answers.map((answer) => answer.refused(404, 'ERR_BATCH_NOT_FOUND').replaceAll(of, 'ID'));
    expect(said(theirs, id)).toEqual(said(none, missing));

    expect((await api.currentBatch(other)).done()).toBeNull();
    expect((await api.listBatches(other)).done().items).toEqual([]);
    for (const query of [{ txHash: burned.txHash }, { proofHash: burned.hash }])
      expect((await api.listBurns(other, query)).done().items).toEqual([]);
    expect(JSON.stringify((await api.report(other)).done())).not.toContain(burned.txHash);
    expect((await api.getBatch(one, id)).done()).toEqual(before);
  });

  it('tells by no cursor how much another project does, and takes none of its cursors', async (api) => {
    const [one, other] = [await api.register(), await api.register()];
    for (const project of [one, one, other, other]) {
      (await api.burn(project, aBurnRequest(1, { proof: { order: randomUUID() } }))).done();
      const { batch } = (await api.initBatch(project, burning(1))).done();
      (await api.cancelBatch(project, batch.id)).done();
    }
    for (const list of ['listBurns', 'listBatches'] as const) {
      const all = (await api[list](one)).done();
      expect([all.items.length, all.nextCursor]).toEqual([2, null]);
      const first = (await api[list](one, { limit: 1 })).done();
      const cursor = first.nextCursor ?? '';
      expect(Buffer.from(cursor, 'base64url').toString('latin1')).toMatch(/^[0-9a-f-]{36}( 0)?$/);
      const second = (await api[list](one, { limit: 1, cursor })).done();
      expect([[...first.items, ...second.items], second.nextCursor]).toEqual([all.items, null]);
      (await api[list](other, { cursor })).refused(400, 'ERR_INVALID_REQUEST');
      (await api[list](one, { cursor: 'MTU' })).refused(400, 'ERR_INVALID_REQUEST');
    }
  });

  it('finds nothing by a text that can be nowhere, and says so', async (api) => {
    for (const text of ['\0', 'a\0b']) {
      for (const name of ['type', 'txHash', 'proofHash'])
        (await api.listBurns(api.project, { [name]: text })).refused(400, 'ERR_INVALID_REQUEST');
      (await api.listBatches(api.project, { txHash: text })).refused(400, 'ERR_INVALID_REQUEST');
      for (const operation of ['getBatch', 'batchPipelines', 'issueApproval', 'cancelBatch'] as const)
        (await api[operation](api.project, text)).refused(404, 'ERR_BATCH_NOT_FOUND');
    }
  });

  it('leaves the caps of one project to it', async (api) => {
    const [one, other] = [await api.register({ dailyBurn: '2' }), await api.register({ dailyBurn: '2' })];
    (await api.burn(one, aBurnRequest(2))).done();
    (await api.burn(one, aBurnRequest(1))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    (await api.burn(other, aBurnRequest(2))).done();
  });
}
