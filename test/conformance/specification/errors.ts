/** The error body and the codes of the specification (sections 2.4 and 7). */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Chain } from '../../../src/chain/chain.js';
import { dataFiles } from '../../../src/compose/local-config.js';
import { replacing } from '../../support/doubles.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  type TestEngine,
  type TestProject,
} from '../../support/engine.js';
import { supplyOf } from '../../support/service.js';
import { rawSqlite } from '../../support/store.js';
import type { Answer, Way } from '../../support/ways.js';

/** A failure of each kind that needs no preparation. */
const failures = async (way: Way): Promise<readonly (readonly [number, string, Answer])[]> => {
  const { project } = way.test;
  const airdropOnly = (await way.test.engine.createKey({ scopes: ['airdrop'], proofTypes: null })).key;
  const key = randomUUID();
  (await way.burn(project, aBurnRequest(1), key)).done();
  return [
    [400, 'ERR_INVALID_REQUEST', await way.burn(project, {})],
    [400, 'ERR_INVALID_REQUEST', await way.burnBatch(project, {})],
    [400, 'ERR_INVALID_REQUEST', await way.initBatch(project, {})],
    [400, 'ERR_INVALID_REQUEST', await way.executeBatch(project, {})],
    [400, 'ERR_INVALID_PROOF', await way.burn(project, aBurnRequest(1, { type: 'NOPE' }))],
    [401, 'ERR_UNAUTHORIZED', await way.currentBatch(null)],
    [403, 'ERR_KEY_SCOPES_UNAUTHORIZED', await way.burn(airdropOnly, aBurnRequest(1))],
    [404, 'ERR_BATCH_NOT_FOUND', await way.getBatch(project, randomUUID())],
    [422, 'ERR_IDEMPOTENCY_KEY_REUSED', await way.burn(project, aBurnRequest(2), key)],
  ];
};

/** The chain, on which somebody else empties the wallet between the look at it and the burn. */
export function chainWithRival({ chain }: TestEngine, rival: () => Promise<unknown>): Chain {
  let came = false;
  return replacing(chain, {
    submit: async (transactions) => {
      if (!came) {
        came = true;
        await rival();
      }
      return chain.submit(transactions);
    },
  });
}

/** Damages the stored batch, as a disk would: what was written about its set-up is not JSON any more. */
function damage(test: TestEngine, batchId: string): void {
  rawSqlite(dataFiles(test.dataDir).store, `update batches set init_result = '{' where id = '${batchId}'`);
}

/** Takes the project's records away behind its keys. */
export function forget(test: TestEngine, { registration }: TestProject, what: 'token' | 'flywheel'): void {
  const { store } = dataFiles(test.dataDir);
  const options = { foreignKeys: false };
  rawSqlite(store, `delete from flywheels where token_id = '${registration.tokenId}'`, options);
  if (what === 'token') rawSqlite(store, `delete from tokens where id = '${registration.tokenId}'`, options);
}

/** A batch that waits for its approval. */
export const finalized = async (way: Way, project: TestProject) =>
  (await way.initBatch(project, { pipelines: [aPipeline([burnAction(1)])] })).done();

export function errors(under: () => Way): void {
  it('2.4: "Both fields are required." — error and message, and no others', async () => {
    for (const [status, code, answer] of await failures(under())) answer.refused(status, code);
  });

  it('2.4: error — "Error code", a string as in the worked examples', async () => {
    for (const [, , { body }] of await failures(under())) {
      expect((body as { error: unknown }).error).toMatch(/^ERR_[A-Z_]+$/);
    }
  });

  it('2.4: message — "Human-readable reason."', async () => {
    for (const [status, code, answer] of await failures(under())) {
      const message = answer.refused(status, code);
      expect(message).toMatch(/^[A-Z].*\.$/s);
      expect(message).not.toMatch(/undefined|\[object|NaN| at \/|node_modules/);
    }
  });

  it('7: "ERR_TOKEN_NOT_FOUND — The token tied to the API key cannot be found or is invalid."', async () => {
    const way = under();
    const [gone, later] = [await way.register(), await way.register({ tokenGeneration: 'v2' })];
    forget(way.test, gone, 'token');
    (await way.burn(gone, aBurnRequest(1))).refused(400, 'ERR_TOKEN_NOT_FOUND');
    (await way.burn(later, aBurnRequest(1))).refused(400, 'ERR_TOKEN_NOT_FOUND');
    (await way.currentBatch(gone)).refused(400, 'ERR_TOKEN_NOT_FOUND');
    (await way.getBatch(gone, randomUUID())).refused(400, 'ERR_TOKEN_NOT_FOUND');
    (await way.initBatch(gone, { pipelines: [aPipeline([burnAction(1)])] })).refused(
      400,
      'ERR_TOKEN_NOT_FOUND',
    );
  });

  it('7: "ERR_INVALID_PROOF — The proof type is not recognised …"', async () => {
    const way = under();
    const message = (await way.burn(way.test.project, aBurnRequest(1, { type: 'NOPE' }))).refused(
      400,
      'ERR_INVALID_PROOF',
    );
    expect(message).toContain('NOPE');
  });

  it('7: "ERR_INVALID_PROOF — … not permitted for the key …"', async () => {
    const way = under();
    const { key } = await way.test.engine.createKey({ scopes: ['burn'], proofTypes: ['WATCH_AD'] });
    (await way.burn(key, aBurnRequest(1))).refused(400, 'ERR_INVALID_PROOF');
    const { errors } = (
      await way.burnBatch(key, [aBurnRequest(1), aBurnRequest(1, { type: 'WATCH_AD' })])
    ).done();
    expect(errors).toMatchObject([{ type: 'ERR_INVALID_PROOF', proofType: 'PRODUCT_BUY' }]);
  });

  it('7: "ERR_INVALID_PROOF — … or the proof object is invalid."', async () => {
    const way = under();
    const large = aBurnRequest(1, { proof: { text: 'x'.repeat(64 * 1_024) } });
    const halfPair = aBurnRequest(1, { proof: { text: '\ud800' } });
    for (const bad of [large, halfPair]) {
      (await way.burn(way.test.project, bad)).refused(400, 'ERR_INVALID_PROOF');
      const { success, errors } = (await way.burnBatch(way.test.project, [aBurnRequest(1), bad])).done();
      expect([success.length, errors.length, errors[0]?.type]).toEqual([1, 1, 'ERR_INVALID_PROOF']);
    }
  });

  it('7: "ERR_BURN_TOKENOMICS_FAILED — The core burn failed (on-chain transaction problem …)"', async () => {
    const way = under();
    const project = await way.register({ burnWalletTokens: '5' });
    const rival = async () => (await way.burn(project, aBurnRequest(4))).done();
    await way.beside({ chain: chainWithRival(way.test, rival) }, async (late) => {
      (await late.burn(project, aBurnRequest(2))).refused(400, 'ERR_BURN_TOKENOMICS_FAILED');
    });
    expect((await way.burn(project, aBurnRequest(1))).done().result).toBe('SUCCESS');
  });

  it('7: "ERR_BURN_TOKENOMICS_FAILED — … (on-chain transaction problem …)", per element', async () => {
    const way = under();
    const project = await way.register({ burnWalletTokens: '5' });
    const before = await supplyOf(way, project);
    const rival = async () => (await way.burn(project, aBurnRequest(3))).done();
    await way.beside({ chain: chainWithRival(way.test, rival) }, async (late) => {
      const { success, errors } = (
        await late.burnBatch(
          project,
          [1, 3, 1].map((amount) => aBurnRequest(amount)),
        )
      ).done();
      expect(success).toHaveLength(2);
      expect(errors).toMatchObject([{ type: 'ERR_BURN_TOKENOMICS_FAILED', proof: { order: 3 } }]);
    });
    expect(before - (await supplyOf(way, project))).toBe(5_000_000n);
  });

  it('7: "ERR_BATCH_NOT_FOUND | 404 | No batch with the given batch id."', async () => {
    const way = under();
    const id = randomUUID();
    expect((await way.getBatch(way.test.project, id)).refused(404, 'ERR_BATCH_NOT_FOUND')).toContain(id);
  });

  it('7: "ERR_BATCH_CURRENT_FAILED | 500 | Current batch retrieval failed."', async () => {
    const way = under();
    const project = await way.register();
    damage(way.test, (await finalized(way, project)).batch.id);
    const message = (await way.currentBatch(project)).refused(500, 'ERR_BATCH_CURRENT_FAILED');
    expect(message).not.toMatch(/JSON|Unexpected|init_result/);
  });

  it('4.3: "Other failures give an error body."', async () => {
    const way = under();
    const project = await way.register();
    const { id } = (await finalized(way, project)).batch;
    damage(way.test, id);
    const message = (await way.getBatch(project, id)).refused(500, 'ERR_INTERNAL');
    expect(message).not.toMatch(/JSON|Unexpected|init_result/);
  });

  it('7: "Codes are carried in `error` (single operations) or in `type` (batch error items)."', async () => {
    const way = under();
    const bad = aBurnRequest(1, { type: 'NOPE' });
    const single = await way.burn(way.test.project, bad);
    const { errors } = (await way.burnBatch(way.test.project, [bad])).done();
    expect([(single.body as { error: string }).error, errors[0]?.type]).toEqual([
      'ERR_INVALID_PROOF',
      'ERR_INVALID_PROOF',
    ]);
  });

  it('7: "Batch burn request-level statuses: 400 (structure invalid …), 401 (key missing or invalid)."', async () => {
    const way = under();
    (await way.burnBatch(way.test.project, { no: 'array' })).refused(400, 'ERR_INVALID_REQUEST');
    (await way.burnBatch(null, [aBurnRequest(1)])).refused(401, 'ERR_UNAUTHORIZED');
  });
}
