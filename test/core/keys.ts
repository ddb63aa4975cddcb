/** Who may do what. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Answer, Api, By } from '../support/api.js';
import { supplyOf } from '../support/chain-reading.js';
import { aBurnRequest, aPipeline, approved, burnAction, burning } from '../support/requests.js';

const HOUR_MS = 3_600_000;
const UNIT = 1_000_000n;
const ALL = { scopes: ['burn', 'airdrop'], proofTypes: null } as const;

/** Every operation, with an input of the right shape. */
const everyOperation = (api: Api, by: By): Promise<readonly Answer[]> => {
  const batchId = randomUUID();
  return Promise.all([
    api.burn(by, aBurnRequest(1)),
    api.burnBatch(by, [aBurnRequest(1)]),
    api.listBurns(by),
    api.history(by),
    api.report(by),
    api.describeKey(by),
    api.getBatch(by, batchId),
    api.currentBatch(by),
    api.initBatch(by, burning(1)),
    api.executeBatch(by, { batchId, signedTx: 'AAAA' }),
    api.listBatches(by),
    api.batchPipelines(by, batchId),
    api.issueApproval(by, batchId),
    api.cancelBatch(by, batchId),
  ]);
};

export function keys(under: () => Api): void {
  it('refuses a missing, unknown or revoked key alike, in every operation', async () => {
    const api = under();
    const extra = await api.service.createKey(ALL);
    (await api.currentBatch(extra.key)).done();
    await api.service.revokeKey(extra.id);
    const messages = new Set<string>();
    for (const key of [null, 'fwk_unknown', extra.key])
      for (const answer of await everyOperation(api, key))
        messages.add(answer.refused(401, 'ERR_UNAUTHORIZED'));
    expect(messages.size).toBe(1);
  });

  it('names the scope that a key lacks', async () => {
    const api = under();
    const key = async (scope: 'burn' | 'airdrop'): Promise<string> =>
      (await api.service.createKey({ scopes: [scope], proofTypes: null })).key;
    const airdrop = await key('airdrop');
    for (const answer of [
      await api.burn(airdrop, aBurnRequest(1)),
      await api.burnBatch(airdrop, [aBurnRequest(1)]),
    ])
      expect(answer.refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED')).toContain('burn');
    const action = { action: 'AIRDROP', toAddress: api.project.owner, amount: 1 };
    const pipelines = [aPipeline([burnAction(1)]), aPipeline([action])];
    const refused = await api.initBatch(await key('burn'), { pipelines });
    const message = refused.refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED');
    expect(message).toMatch(/pipelines\[1\]\.actions\[0\].*airdrop/);
  });

  it('says which key it is, what it may do and for which token', async () => {
    const api = under();
    const terms = { scopes: ['airdrop'], proofTypes: ['WATCH_AD'] } as const;
    const { id, key } = await api.service.createKey(terms);
    const { tokenId, symbol, mintAddress, decimals } = api.project;
    expect((await api.describeKey(key)).done()).toEqual({
      ...terms,
      ...{ id, tokenId, symbol, mintAddress, decimals },
    });
  });

  it('permits a key only its own proof types', async () => {
    const api = under();
    const { key } = await api.service.createKey({ scopes: ['burn'], proofTypes: ['WATCH_AD'] });
    (await api.burn(key, aBurnRequest(1))).refused(400, 'ERR_INVALID_PROOF');
    (await api.burn(key, aBurnRequest(1, { type: 'WATCH_AD' }))).done();
    (await api.initBatch(key, burning(1))).refused(400, 'ERR_INVALID_PROOF');
  });

  it('lets an old and a new key work until the grace is over, with the same rights', async () => {
    const api = under();
    const old = await api.service.createKey({ scopes: ['burn'], proofTypes: ['WATCH_AD'] });
    const fresh = await api.service.rotateKey(old.id, HOUR_MS);
    for (const { key } of [old, fresh]) {
      (await api.burn(key, aBurnRequest(1, { type: 'WATCH_AD' }))).done();
      (await api.burn(key, aBurnRequest(1))).refused(400, 'ERR_INVALID_PROOF');
    }
    const second = await api.service.rotateKey((await api.service.createKey(ALL)).id, 0);
    (await api.currentBatch(second.key)).done();
    await api.service.revokeKey(old.id);
    (await api.currentBatch(old.key)).refused(401, 'ERR_UNAUTHORIZED');
    (await api.currentBatch(fresh.key)).done();
  });

  it('gives a repeat with the new key what was done with the old one, and burns nothing', async () => {
    const api = under();
    const old = await api.service.createKey({ scopes: ['burn'], proofTypes: ['PRODUCT_BUY'] });
    const fresh = await api.service.rotateKey(old.id, HOUR_MS);
    const [idempotencyKey, request] = [randomUUID(), aBurnRequest(1)];
    const elements = [aBurnRequest(1), aBurnRequest(1, { type: 'WATCH_AD' })];
    const one = await api.burn(old.key, request, idempotencyKey);
    const many = await api.burnBatch(old.key, elements, idempotencyKey);
    const before = await supplyOf(api, api.project);
    const again = await api.burn(fresh.key, request, idempotencyKey);
    const manyAgain = await api.burnBatch(fresh.key, elements, idempotencyKey);
    expect([again.replayed, again.done()]).toEqual([true, one.done()]);
    expect([manyAgain.replayed, manyAgain.done()]).toEqual([true, many.done()]);
    expect(await supplyOf(api, api.project)).toBe(before);
  });

  it('executes with the new key a batch that was begun with the old one', async () => {
    const api = under();
    const old = await api.service.createKey(ALL);
    const fresh = await api.service.rotateKey(old.id, HOUR_MS);
    const init = (await api.initBatch(old.key, burning(1))).done();
    await api.service.revokeKey(old.id);
    const before = await supplyOf(api, api.project);
    (await api.executeBatch(fresh.key, approved(api.project, init), randomUUID())).done();
    expect(before - (await supplyOf(api, api.project))).toBe(UNIT);
  });
}
