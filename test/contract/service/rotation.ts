/** A key in the place of another: two are valid at once, and what was asked for with one is the project's (contract, section 1.4). */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Call } from '../../../src/contract/call.js';
import { createApiKey } from '../../../src/engine/authenticate.js';
import { randomIds } from '../../../src/values/ids.js';
import { Secret } from '../../../src/values/secret.js';
import { failureOf, type ServiceUnderTest, signApproval, supplyOf } from '../../support/service.js';
import { aBurn, aPipeline } from './examples.js';

const HOUR_MS = 3_600_000;
const UNIT = 1_000_000n;

type KeyTerms = Parameters<ServiceUnderTest['test']['engine']['createKey']>[0];

/** Credentials of a key of the project, and of the one in its place. */
async function rotated({ test }: ServiceUnderTest, terms: KeyTerms, graceMs = HOUR_MS) {
  const old = await test.engine.createKey(terms);
  const key = createApiKey(randomIds);
  const successor = await test.engine.rotateKey({ id: old.id, key, graceMs });
  return { old, successor, first: new Secret(old.key), second: key };
}

const ALL: KeyTerms = { scopes: ['burn', 'airdrop'], proofTypes: null };

export function rotation(under: () => ServiceUnderTest): void {
  it('lets both keys work until the grace is over, with the same rights', async () => {
    const { service } = under();
    const terms: KeyTerms = { scopes: ['burn'], proofTypes: ['WATCH_AD'] };
    const { old, successor, first, second } = await rotated(under(), terms);
    expect(successor).toMatchObject({ ...terms, rotatedFrom: old.id, dateExpires: null });
    for (const credential of [first, second]) {
      expect((await service.burn(aBurn({ type: 'WATCH_AD' }), { credential })).value.type).toBe('WATCH_AD');
      expect((await failureOf(service.burn(aBurn(), { credential }))).code).toBe('ERR_INVALID_PROOF');

      expect((await service.describeKey({ credential })).value.scopes).toEqual(['burn']);
    }
  });

  it('refuses the old key after that as it refuses one that never was', async () => {
    const { service } = under();
    const { first, second } = await rotated(under(), ALL, 0);
    const [ended, unknown] = [
      await failureOf(service.currentBatch({ credential: first })),
      await failureOf(service.currentBatch({ credential: createApiKey(randomIds) })),
    ];
    expect([ended.code, ended.message]).toEqual(['ERR_UNAUTHORIZED', unknown.message]);
    await service.currentBatch({ credential: second });
  });

  it('gives a repeat with the new key what was done with the old one, and burns nothing', async () => {
    const { service, test } = under();
    const { first, second } = await rotated(under(), { scopes: ['burn'], proofTypes: ['PRODUCT_BUY'] });
    const call = { idempotencyKey: randomUUID() };
    const [request, elements] = [aBurn(), [aBurn(), aBurn({ type: 'WATCH_AD' })]];
    const one = await service.burn(request, { ...call, credential: first });
    const many = await service.burnBatch(elements, { ...call, credential: first });
    expect(many.value.errors).toHaveLength(1);
    const before = await supplyOf(under(), test.project);
    const again = await service.burn(request, { ...call, credential: second });
    const manyAgain = await service.burnBatch(elements, { ...call, credential: second });
    expect([again.meta.replayed, again.value]).toEqual([true, one.value]);
    expect([manyAgain.meta.replayed, manyAgain.value]).toEqual([true, many.value]);
    expect(await supplyOf(under(), test.project)).toBe(before);
  });

  it('gives no repeat to a key without the scope or the proof type', async () => {
    const { service, test } = under();
    const idempotencyKey = randomUUID();
    const request = aBurn();
    await service.burn(request, test.project.call({ idempotencyKey }));
    const with_ = async (terms: KeyTerms): Promise<Call> => ({
      credential: new Secret((await test.engine.createKey(terms)).key),
      idempotencyKey,
    });
    const before = await supplyOf(under(), test.project);
    const refusals = [
      await failureOf(service.burn(request, await with_({ scopes: ['airdrop'], proofTypes: null }))),
      await failureOf(service.burn(request, await with_({ scopes: ['burn'], proofTypes: ['WATCH_AD'] }))),
    ];
    expect(refusals.map(({ code }) => code)).toEqual(['ERR_KEY_SCOPES_UNAUTHORIZED', 'ERR_INVALID_PROOF']);
    expect(await supplyOf(under(), test.project)).toBe(before);
  });

  it('executes with the new key a batch that was begun with the old one', async () => {
    const { service, test } = under();
    const { first, second, old } = await rotated(under(), ALL);
    const { value } = await service.initBatch({ pipelines: [aPipeline()] }, { credential: first });
    await test.engine.revokeKey(old.id);
    const signedTx = signApproval(value.proposalApproveTx, test.project.owner);
    const before = await supplyOf(under(), test.project);
    const executed = await service.executeBatch(
      { batchId: value.batch.id, signedTx },
      { credential: second, idempotencyKey: randomUUID() },
    );
    expect(executed.value.result.totalFailed).toBe(0);
    expect(before - (await supplyOf(under(), test.project))).toBe(UNIT);
  });
}
