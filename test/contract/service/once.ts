/** At most once (service specification, sections 4.1 and 4.2; contract, section 1.4). */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Call, Reply } from '../../../src/contract/call.js';
import type { BurnRequest, BurnResult } from '../../../src/contract/schemas/burn.js';
import { isFlywheelError } from '../../../src/errors/flywheel-error.js';
import { Secret } from '../../../src/values/secret.js';
import { failureOf, type ServiceUnderTest, supplyOf } from '../../support/service.js';
import { aBurn, aPipeline } from './examples.js';

const UNIT = 1_000_000n;
const IDENTICAL = 50;

export function once(under: () => ServiceUnderTest): void {
  it('gives a repeat the first answer and burns nothing', async () => {
    const { service, test } = under();
    const call = test.project.call({ idempotencyKey: randomUUID() });
    const request = aBurn({ proof: { a: 1, b: { c: 2, d: 3 } } });
    const before = await supplyOf(under(), test.project);
    const first = await service.burn(request, call);
    const again = await service.burn(request, call);
    const reordered = await service.burn({ ...request, proof: { b: { d: 3, c: 2 }, a: 1 } }, call);
    expect([first.meta.replayed, again.meta.replayed, reordered.meta.replayed]).toEqual([false, true, true]);
    expect(JSON.stringify(again.value)).toBe(JSON.stringify(first.value));
    expect(reordered.value).toEqual(first.value);
    expect(before - (await supplyOf(under(), test.project))).toBe(UNIT);
  });

  it('does the same for a batch, its failures included', async () => {
    const { service, test } = under();
    const call = test.project.call({ idempotencyKey: randomUUID() });
    const elements = [aBurn(), aBurn({ type: 'NOPE' })];
    const first = await service.burnBatch(elements, call);
    const before = await supplyOf(under(), test.project);
    const again = await service.burnBatch(elements, call);
    expect(again.meta.replayed).toBe(true);
    expect(JSON.stringify(again.value)).toBe(JSON.stringify(first.value));
    expect(await supplyOf(under(), test.project)).toBe(before);
  });

  it('refuses another body under the same key', async () => {
    const { service, test } = under();
    const call = test.project.call({ idempotencyKey: randomUUID() });
    const request = aBurn();
    await service.burn(request, call);
    const others: BurnRequest[] = [
      { ...request, burnAmount: 2 },
      { ...request, persistOnchain: true },
      { ...request, proof: { ...request.proof, more: 1 } },
    ];
    for (const other of others) {
      const error = await failureOf(service.burn(other, call));
      expect([error.code, error.status, error.exitCode]).toEqual(['ERR_IDEMPOTENCY_KEY_REUSED', 422, 5]);
    }
  });

  it("counts a key per project and operation, whichever of the project's API keys brings it", async () => {
    const { service, test } = under();
    const idempotencyKey = randomUUID();
    const created = await test.engine.createKey({ scopes: ['burn'], proofTypes: null });
    const stranger = await under().register();
    const request = aBurn();
    const before = await supplyOf(under(), test.project);
    await service.burn(request, test.project.call({ idempotencyKey }));
    const other = await service.burn(request, { credential: new Secret(created.key), idempotencyKey });
    const batch = await service.burnBatch([request], test.project.call({ idempotencyKey }));
    const foreign = await service.burn(request, stranger.call({ idempotencyKey }));
    expect([other, batch, foreign].map(({ meta }) => meta.replayed)).toEqual([true, false, false]);
    expect(before - (await supplyOf(under(), test.project))).toBe(2n * UNIT);
  });

  it('does not use a key up when the request fails', async () => {
    const { service, register, test } = under();
    const project = await register({ burnWalletTokens: '0' });
    const call = project.call({ idempotencyKey: 'order/77#1' });
    const request = aBurn();
    expect((await failureOf(service.burn(request, call))).code).toBe('ERR_BURN_TOKENOMICS_FAILED');
    expect((await failureOf(service.burn(request, call))).code).toBe('ERR_BURN_TOKENOMICS_FAILED');
    const typo = await failureOf(service.burn({ ...request, burnAmount: 0 }, call));
    expect(typo.code).toBe('ERR_BURN_TOKENOMICS_FAILED');
    expect((await failureOf(service.burn({ ...request, type: 'NOPE' }, call))).code).toBe(
      'ERR_INVALID_PROOF',
    );
    const good = test.project.call({ idempotencyKey: 'order/77#1' });
    expect((await service.burn(request, good)).meta.replayed).toBe(false);
  });

  it('says of a refusal whether its key was not used, and of one at the door nothing', async () => {
    const { service, register } = under();
    const project = await register({ dailyBurn: '1', vaultTokens: '5' });
    const said = async (idempotencyKey: string, work: (call: Call) => Promise<unknown>) => {
      const { code, options } = await failureOf(work(project.call({ idempotencyKey })));
      return [code, options.keyUnused];
    };
    const burn = (more: Partial<BurnRequest>) => (call: Call) => service.burn(aBurn(more), call);
    const init = (amount: number) => (call: Call) =>
      service.initBatch({ pipelines: [aPipeline({ actions: [{ action: 'BURN', amount }] })] }, call);
    expect([
      await said('k-1', burn({ burnAmount: 2 })),
      await said('k-1', burn({ type: 'NOPE' })),
      await said('k-1', burn({ burnAmount: 10_000_000 })),
      await said('k-1', init(2)),
      await said('k-1', init(6)),
      await said(randomUUID(), (call) => service.burnBatch({} as never, call)),
    ]).toEqual([
      ['ERR_DAILY_LIMIT_EXCEEDED', true],
      ['ERR_INVALID_PROOF', true],
      ['ERR_BURN_TOKENOMICS_FAILED', true],
      ['ERR_DAILY_LIMIT_EXCEEDED', true],
      ['ERR_INVALID_REQUEST', true],
      ['ERR_INVALID_REQUEST', true],
    ]);
    // It was true: the key is free.
    await service.burn(aBurn(), project.call({ idempotencyKey: 'k-1' }));
    const malformed = { ...aBurn(), persistOnchain: 'yes' } as unknown as BurnRequest;
    expect([
      await said('k-1', (call) => service.burn(malformed, call)),
      await said('k-1', burn({ burnAmount: 2 })),
      await said('k-2', (call) => service.burn(malformed, { ...call, credential: new Secret('nobody') })),
    ]).toEqual([
      ['ERR_INVALID_REQUEST', undefined],
      ['ERR_IDEMPOTENCY_KEY_REUSED', undefined],
      ['ERR_UNAUTHORIZED', undefined],
    ]);
  });

  it('refuses keys that cannot be: too long, with spaces, or no UUID for a batch', async () => {
    const { service, test } = under();
    for (const idempotencyKey of ['', 'a b', 'ü', 'x'.repeat(256)]) {
      const error = await failureOf(service.burn(aBurn(), test.project.call({ idempotencyKey })));
      expect([error.code, error.message]).toEqual([
        'ERR_INVALID_REQUEST',
        expect.stringContaining('x-idempotency-key'),
      ]);
    }
    await service.burn(aBurn(), test.project.call({ idempotencyKey: 'x'.repeat(255) }));
    const noUuid = service.burnBatch([aBurn()], test.project.call({ idempotencyKey: 'abc' }));
    expect((await failureOf(noUuid)).message).toContain('UUID');
  });

  it(`burns once for ${IDENTICAL} identical requests at the same time`, async () => {
    const { service, test } = under();
    const call = test.project.call({ idempotencyKey: randomUUID() });
    const before = await supplyOf(under(), test.project);
    const outcomes = await manyAtOnce(() => service.burn(aBurnOnce, call));
    expect(before - (await supplyOf(under(), test.project))).toBe(UNIT);
    const fresh = outcomes.filter((outcome) => 'value' in outcome && !outcome.meta.replayed);
    expect(fresh.length).toBeLessThanOrEqual(1);
    const hashes = outcomes.flatMap((outcome) => ('value' in outcome ? [outcome.value.txHash] : []));
    expect(new Set(hashes).size).toBe(1);
  });

  it('burns once each for many different requests at the same time', async () => {
    const { service, test } = under();
    const before = await supplyOf(under(), test.project);
    const burns = Array.from({ length: IDENTICAL }, () => aBurn());
    const replies = await Promise.all(burns.map((request) => service.burn(request, test.project.call())));
    expect(new Set(replies.map(({ value }) => value.txHash)).size).toBe(IDENTICAL);
    expect(before - (await supplyOf(under(), test.project))).toBe(BigInt(IDENTICAL) * UNIT);
  });

  it('starts one batch for a repeated init', async () => {
    const { service, register } = under();
    const project = await register();
    const call = project.call({ idempotencyKey: randomUUID() });
    const request = { pipelines: [aPipeline()] };
    const first = await service.initBatch(request, call);
    const again = await service.initBatch(request, call);
    expect([first.meta.replayed, again.meta.replayed]).toEqual([false, true]);
    expect(JSON.stringify(again.value)).toBe(JSON.stringify(first.value));
    const other = await failureOf(service.initBatch({ pipelines: [aPipeline()] }, call));
    expect(other.code).toBe('ERR_IDEMPOTENCY_KEY_REUSED');
  });
}

const aBurnOnce = aBurn();

/** Every outcome: a reply, or the refusal of a key in use. */
async function manyAtOnce(
  burn: () => Promise<Reply<BurnResult>>,
): Promise<readonly (Reply<BurnResult> | { readonly refused: true })[]> {
  const settled = await Promise.allSettled(Array.from({ length: IDENTICAL }, burn));
  return settled.map((outcome) => {
    if (outcome.status === 'fulfilled') return outcome.value;
    expect(isFlywheelError(outcome.reason, 'ERR_DUPLICATE_IDEMPOTENCY_KEY')).toBe(true);
    return { refused: true };
  });
}
