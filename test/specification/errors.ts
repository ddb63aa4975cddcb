/** The error body and the codes of the specification (sections 2.4 and 7). */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Answer, Api } from './api.js';
import { it } from './cases.js';
import { sendTokens, supplyOf, treasuryOf } from './chain-reading.js';
import type { Project } from './in-process-service.js';
import { aBurnRequest, aPipeline, burnAction } from './requests.js';

/** One failure of each kind that needs no preparation. */
const failures = async (api: Api): Promise<readonly (readonly [number, string, Answer])[]> => {
  const { project } = api;
  const airdropOnly = (await api.service.createKey({ scopes: ['airdrop'], proofTypes: null })).key;
  const key = randomUUID();
  (await api.burn(project, aBurnRequest(1), key)).done();
  return [
    [400, 'ERR_INVALID_REQUEST', await api.burn(project, {})],
    [400, 'ERR_INVALID_REQUEST', await api.burnBatch(project, {})],
    [400, 'ERR_INVALID_REQUEST', await api.initBatch(project, {})],
    [400, 'ERR_INVALID_REQUEST', await api.executeBatch(project, {})],
    [400, 'ERR_INVALID_PROOF', await api.burn(project, aBurnRequest(1, { type: 'NOPE' }))],
    [401, 'ERR_UNAUTHORIZED', await api.currentBatch(null)],
    [403, 'ERR_KEY_SCOPES_UNAUTHORIZED', await api.burn(airdropOnly, aBurnRequest(1))],
    [404, 'ERR_BATCH_NOT_FOUND', await api.getBatch(project, randomUUID())],
    [422, 'ERR_IDEMPOTENCY_KEY_REUSED', await api.burn(project, aBurnRequest(2), key)],
  ];
};

/** Another client acts between the reading of the chain and the first transaction. */
const onFirst = (act: () => Promise<unknown>) => async (nth: number) => {
  if (nth === 1) await act();
};

const finalized = async (api: Api, project: Project) =>
  (await api.initBatch(project, { pipelines: [aPipeline([burnAction(1)])] })).done();

export function errors(): void {
  it('2.4: "Both fields are required." — error, a code, and message, a "Human-readable reason.", and no others', async (api) => {
    for (const [status, code, answer] of await failures(api)) {
      const message = answer.refused(status, code);
      expect(message).toMatch(/^[A-Z].*\.$/s);
      expect(message).not.toMatch(/undefined|\[object|NaN| at \/|node_modules/);
    }
  });

  it('7: "ERR_BURN_TOKENOMICS_FAILED — The core burn failed (on-chain transaction problem …)"', async (api) => {
    const project = await api.register({ burnWalletTokens: '5', dailyBurn: '6' });
    const [rival, key] = [async () => (await api.burn(project, aBurnRequest(4))).done(), randomUUID()];
    await api.beside({ beforeSending: onFirst(rival) }, async (late) => {
      const answer = await late.burn(project, aBurnRequest(2), key);
      expect(answer.refused(400, 'ERR_BURN_TOKENOMICS_FAILED')).toContain('insufficient funds');
    });
    // Its cap is released, and its key is unused.
    await sendTokens(api, project, { from: treasuryOf(api), to: project.burnWallet, amount: 1_000_000n });
    expect((await api.burn(project, aBurnRequest(2), key)).replayed).toBe(false);
  });

  it('7: "ERR_BURN_TOKENOMICS_FAILED — … (on-chain transaction problem …)", per element', async (api) => {
    const project = await api.register({ burnWalletTokens: '5' });
    const before = await supplyOf(api, project);
    const rival = async () => (await api.burn(project, aBurnRequest(3))).done();
    await api.beside({ beforeSending: onFirst(rival) }, async (late) => {
      const { success, errors } = (
        await late.burnBatch(
          project,
          [1, 3, 1].map((amount) => aBurnRequest(amount)),
        )
      ).done();
      expect(success).toHaveLength(2);
      expect(errors).toMatchObject([{ type: 'ERR_BURN_TOKENOMICS_FAILED', proof: { order: 3 } }]);
    });
    expect(before - (await supplyOf(api, project))).toBe(5_000_000n);
  });

  it('7: "ERR_BATCH_CURRENT_FAILED | 500 | Current batch retrieval failed."', async (api) => {
    const project = await api.register();
    api.service.breakStore({ damagedBatch: (await finalized(api, project)).batch.id });
    const message = (await api.currentBatch(project)).refused(500, 'ERR_BATCH_CURRENT_FAILED');
    expect(message).not.toMatch(/JSON|Unexpected|init_result/);
  });

  it('4.3: "Other failures give an error body."', async (api) => {
    const project = await api.register();
    const { id } = (await finalized(api, project)).batch;
    api.service.breakStore({ damagedBatch: id });
    const message = (await api.getBatch(project, id)).refused(500, 'ERR_INTERNAL');
    expect(message).not.toMatch(/JSON|Unexpected|init_result/);
  });
}
