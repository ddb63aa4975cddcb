/** Access rights (service specification, section 5; contract, sections 1.1 and 1.3). */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Answer, Api, By } from './api.js';
import { it } from './cases.js';
import { supplyOf } from './chain-reading.js';
import type { Project, Scope } from './in-process-service.js';
import { aBurnRequest, aPipeline, approved, burnAction, burning } from './requests.js';

const UNIT = 1_000_000n;
const HOUR_MS = 3_600_000;
const ALL = { scopes: ['burn', 'airdrop'], proofTypes: null } as const;

const OPERATIONS = ['burn', 'burnBatch', 'getBatch', 'currentBatch', 'initBatch', 'executeBatch'] as const;

const everyOperation = (api: Api, by: By): Promise<readonly Answer[]> =>
  Promise.all([
    api.burn(by, aBurnRequest(1)),
    api.burnBatch(by, [aBurnRequest(1)]),
    api.getBatch(by, randomUUID()),
    api.currentBatch(by),
    api.initBatch(by, { pipelines: [aPipeline([burnAction(1)])] }),
    api.executeBatch(by, { batchId: randomUUID(), signedTx: 'AAAA' }),
  ]);

const keyWith = async ({ service }: Api, ...scopes: Scope[]): Promise<string> =>
  (await service.createKey({ scopes, proofTypes: null })).key;

const airdropTo = ({ owner }: Project) => ({ action: 'AIRDROP', toAddress: owner, amount: 1 }) as const;

export function access(): void {
  it('4, 5: "All requests carry the API key header" contract 1.3: "ERR_UNAUTHORIZED — the key is missing, unknown, revoked or expired (never says which)"', async (api) => {
    const before = await supplyOf(api, api.project);
    const revoked = await api.service.createKey({ scopes: ['burn', 'airdrop'], proofTypes: null });
    expect((await api.currentBatch(revoked.key)).status).toBe(200);
    await api.service.revokeKey(revoked.id);
    const messages = new Set<string>();
    for (const by of [null, '', 'fwk_unknown', `${api.project.key}x`, revoked.key]) {
      for (const answer of await everyOperation(api, by))
        messages.add(answer.refused(401, 'ERR_UNAUTHORIZED'));
    }
    expect(messages.size).toBe(1);
    expect(await supplyOf(api, api.project)).toBe(before);
  });

  it('5: "Burn operations (4.1, 4.2): The key must have the `burn` scope."', async (api) => {
    const [burn, airdrop] = [await keyWith(api, 'burn'), await keyWith(api, 'airdrop')];
    (await api.burn(burn, aBurnRequest(1))).done();
    (await api.burnBatch(burn, [aBurnRequest(1)])).done();
    for (const answer of [
      await api.burn(airdrop, aBurnRequest(1)),
      await api.burnBatch(airdrop, [aBurnRequest(1)]),
    ]) {
      expect(answer.refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED')).toContain('burn');
    }
  });

  it('5: "Batch status operations (4.3, 4.4): The key must have the `burn` or the `airdrop` scope."', async (api) => {
    for (const key of [await keyWith(api, 'burn'), await keyWith(api, 'airdrop')]) {
      (await api.currentBatch(key)).done();
      (await api.getBatch(key, randomUUID())).refused(404, 'ERR_BATCH_NOT_FOUND');
    }
    const none = await keyWith(api);
    for (const answer of [await api.currentBatch(none), await api.getBatch(none, randomUUID())]) {
      expect(answer.refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED')).toMatch(/burn.*airdrop/);
    }
  });

  it('contract 1.2: init and execute need the scope burn or airdrop; "each action also needs its own scope"', async (api) => {
    const { project } = api;
    const none = await everyOperation(api, await keyWith(api));
    for (const [index, answer] of none.entries()) {
      expect([OPERATIONS[index], answer.refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED')]).toEqual([
        OPERATIONS[index],
        expect.stringContaining('burn'),
      ]);
    }
    const current = (await api.currentBatch(project)).done();
    for (const [scopes, action, needed] of [
      [['burn'], airdropTo(project), 'airdrop'],
      [['airdrop'], burnAction(1), 'burn'],
    ] as const) {
      const memo = { action: 'MEMO', message: 'm' } as const;
      const pipelines = [aPipeline([memo]), aPipeline([memo, action])];
      const refused = await api.initBatch(await keyWith(api, ...scopes), { pipelines });
      expect(refused.refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED')).toMatch(
        new RegExp(`pipelines\\[1\\]\\.actions\\[1\\].*\`?${needed}`),
      );
    }
    expect((await api.currentBatch(project)).done()).toEqual(current);
  });

  it('5: "a proof type may be unpermitted for a key (`ERR_INVALID_PROOF`)" — in init as well', async (api) => {
    const { key } = await api.service.createKey({ scopes: ['burn'], proofTypes: ['WATCH_AD'] });
    const refused = await api.initBatch(key, { pipelines: [aPipeline([burnAction(1)])] });
    expect(refused.refused(400, 'ERR_INVALID_PROOF')).toContain('pipelines[0].type');
  });

  it('contract 1.4: a rotated key — the old one works until its grace is over, the new one with the same rights', async (api) => {
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

  it('contract 1.4: a rotated key — the new one executes a batch that was begun with the old one', async (api) => {
    const old = await api.service.createKey(ALL);
    const fresh = await api.service.rotateKey(old.id, HOUR_MS);
    const init = (await api.initBatch(old.key, burning(1))).done();
    await api.service.revokeKey(old.id);
    const before = await supplyOf(api, api.project);
    (await api.executeBatch(fresh.key, approved(api.project, init), randomUUID())).done();
    expect(before - (await supplyOf(api, api.project))).toBe(UNIT);
  });
}
