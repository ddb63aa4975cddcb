/** Who may do what (service specification, section 5; contract, sections 1.1 and 1.3). */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Scope } from '../../../src/values/schemas.js';
import { aBurnRequest, aPipeline, burnAction, signApproval, type TestProject } from '../../support/engine.js';
import { supplyOf } from '../../support/service.js';
import type { Answer, By, Way } from '../../support/ways.js';
import { finalized } from './errors.js';

const OPERATIONS = ['burn', 'burnBatch', 'getBatch', 'currentBatch', 'initBatch', 'executeBatch'] as const;

/** Every operation, called as well as it can be. */
const everyOperation = (way: Way, by: By): Promise<readonly Answer[]> =>
  Promise.all([
    way.burn(by, aBurnRequest(1)),
    way.burnBatch(by, [aBurnRequest(1)]),
    way.getBatch(by, randomUUID()),
    way.currentBatch(by),
    way.initBatch(by, { pipelines: [aPipeline([burnAction(1)])] }),
    way.executeBatch(by, { batchId: randomUUID(), signedTx: 'AAAA' }),
  ]);

const keyWith = async ({ test }: Way, ...scopes: Scope[]): Promise<string> =>
  (await test.engine.createKey({ scopes, proofTypes: null })).key;

const airdropTo = ({ owner }: TestProject) =>
  ({ action: 'AIRDROP', toAddress: owner.address, amount: 1 }) as const;

export function access(under: () => Way): void {
  it('4, 5: "All requests carry the API key header" — a missing or unknown key is 401 in every operation (contract 1.3)', async () => {
    const way = under();
    const before = await supplyOf(way, way.test.project);
    for (const by of [null, '', 'fwk_unknown', `${way.test.project.key.reveal()}x`]) {
      for (const answer of await everyOperation(way, by)) answer.refused(401, 'ERR_UNAUTHORIZED');
    }
    expect(await supplyOf(way, way.test.project)).toBe(before);
  });

  it('contract 1.3: "ERR_UNAUTHORIZED — key missing, unknown or revoked (never says which)"', async () => {
    const way = under();
    const revoked = await way.test.engine.createKey({ scopes: ['burn', 'airdrop'], proofTypes: null });
    expect((await way.currentBatch(revoked.key)).status).toBe(200);
    await way.test.engine.revokeKey(revoked.id);
    const messages = new Set<string>();
    for (const by of [null, 'fwk_unknown', revoked.key]) {
      for (const answer of await everyOperation(way, by))
        messages.add(answer.refused(401, 'ERR_UNAUTHORIZED'));
    }
    expect(messages.size).toBe(1);
  });

  it('5: "Burn operations (4.1, 4.2): The key must have the `burn` scope."', async () => {
    const way = under();
    const [burn, airdrop] = [await keyWith(way, 'burn'), await keyWith(way, 'airdrop')];
    (await way.burn(burn, aBurnRequest(1))).done();
    (await way.burnBatch(burn, [aBurnRequest(1)])).done();
    for (const answer of [
      await way.burn(airdrop, aBurnRequest(1)),
      await way.burnBatch(airdrop, [aBurnRequest(1)]),
    ]) {
      expect(answer.refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED')).toContain('burn');
    }
  });

  it('5: "Batch status operations (4.3, 4.4): The key must have the `burn` or the `airdrop` scope."', async () => {
    const way = under();
    for (const key of [await keyWith(way, 'burn'), await keyWith(way, 'airdrop')]) {
      (await way.currentBatch(key)).done();
      (await way.getBatch(key, randomUUID())).refused(404, 'ERR_BATCH_NOT_FOUND');
    }
    const none = await keyWith(way);
    for (const answer of [await way.currentBatch(none), await way.getBatch(none, randomUUID())]) {
      expect(answer.refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED')).toMatch(/burn.*airdrop/);
    }
  });

  it('contract 1.2: init and execute need the scope burn or airdrop; "each action also needs its own scope"', async () => {
    const way = under();
    const { project } = way.test;
    const none = await everyOperation(way, await keyWith(way));
    for (const [index, answer] of none.entries()) {
      expect([OPERATIONS[index], answer.refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED')]).toEqual([
        OPERATIONS[index],
        expect.stringContaining('burn'),
      ]);
    }
    const current = (await way.currentBatch(project)).done();
    for (const [scopes, action, needed] of [
      [['burn'], airdropTo(project), 'airdrop'],
      [['airdrop'], burnAction(1), 'burn'],
    ] as const) {
      const memo = { action: 'MEMO', message: 'm' } as const;
      const pipelines = [aPipeline([memo]), aPipeline([memo, action])];
      const refused = await way.initBatch(await keyWith(way, ...scopes), { pipelines });
      expect(refused.refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED')).toMatch(
        new RegExp(`pipelines\\[1\\]\\.actions\\[1\\].*\`?${needed}`),
      );
    }
    expect((await way.currentBatch(project)).done()).toEqual(current);
  });

  it('5: "Scopes: Chosen when the flywheel is registered in the web application."', async () => {
    const way = under();
    const airdropOnly = await way.register({ scopes: ['airdrop'] });
    (await way.currentBatch(airdropOnly)).done();
    (await way.burn(airdropOnly, aBurnRequest(1))).refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED');
  });

  it('5: "Key-bound data: The current batch (4.4) is determined by the key"', async () => {
    const way = under();
    const [mine, other] = [await way.register(), await way.register()];
    const { id } = (await finalized(way, mine)).batch;
    expect((await way.currentBatch(mine)).done()?.id).toBe(id);
    expect((await way.currentBatch(other)).done()).toBeNull();
  });

  it('contract 1.3: "another project\'s batch is not found either"', async () => {
    const way = under();
    const [mine, other] = [await way.register(), await way.register()];
    const init = await finalized(way, other);
    const { id } = init.batch;
    const missing = randomUUID();
    const body = { batchId: id, signedTx: signApproval(other.owner, init) };
    for (const [theirs, none] of [
      [await way.getBatch(mine, id), await way.getBatch(mine, missing)],
      [await way.executeBatch(mine, body), await way.executeBatch(mine, { ...body, batchId: missing })],
    ] as const) {
      const [first, second] = [theirs, none].map((answer) => answer.refused(404, 'ERR_BATCH_NOT_FOUND'));
      expect(first?.replaceAll(id, 'ID')).toBe(second?.replaceAll(missing, 'ID'));
    }
    expect((await way.getBatch(other, id)).done().status).toBe('FINALIZED');
  });

  it('5: "a proof type may be unpermitted for a key (`ERR_INVALID_PROOF`)" — in init as well', async () => {
    const way = under();
    const { key } = await way.test.engine.createKey({ scopes: ['burn'], proofTypes: ['WATCH_AD'] });
    const refused = await way.initBatch(key, { pipelines: [aPipeline([burnAction(1)])] });
    expect(refused.refused(400, 'ERR_INVALID_PROOF')).toContain('pipelines[0].type');
  });

  it('5: "the project owner signs the approval transaction with a wallet, and the service operator also approves"', async () => {
    const way = under();
    const project = await way.register();
    const before = await supplyOf(way, project);
    const init = await finalized(way, project);
    const unsigned = { batchId: init.batch.id, signedTx: init.proposalApproveTx };
    expect((await way.executeBatch(project, unsigned)).refused(400, 'ERR_INVALID_SIGNED_TX')).toContain(
      project.owner.address,
    );
    expect(await supplyOf(way, project)).toBe(before);
    const signed = { ...unsigned, signedTx: signApproval(project.owner, init) };
    expect((await way.executeBatch(project, signed)).done().result.totalSuccessful).toBe(1);
    expect(before - (await supplyOf(way, project))).toBe(1_000_000n);
  });
}
