/** At most once, whoever asks, and as often as they ask. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Answer, Api } from '../support/api.js';
import { supplyOf } from '../support/chain-reading.js';
import { aBurnRequest, burning } from '../support/requests.js';

const UNIT = 1_000_000n;
const MANY = 50;

/** Does the answer say that the idempotency key is as free as before? */
const saysUnused = ({ http }: Answer): boolean => http.headers['idempotency-key-unused'] === 'true';

export function once(under: () => Api): void {
  it('gives a repeat the first answer, byte for byte, and burns nothing', async () => {
    const api = under();
    const project = await api.register();
    const [key, request] = [randomUUID(), aBurnRequest(1, { proof: { a: 1, b: { c: 2, d: 3 } } })];
    const before = await supplyOf(api, project);
    const first = await api.burn(project, request, key);
    const again = await api.burn(project, request, key);
    const reordered = await api.burn(project, { ...request, proof: { b: { d: 3, c: 2 }, a: 1 } }, key);
    expect([first.replayed, again.replayed, reordered.replayed]).toEqual([false, true, true]);
    expect(again.http.bytes).toEqual(first.http.bytes);
    expect(reordered.done()).toEqual(first.done());
    expect(before - (await supplyOf(api, project))).toBe(UNIT);
  });

  it('does the same for a batch of burns, its failures included', async () => {
    const api = under();
    const project = await api.register();
    const [key, elements] = [randomUUID(), [aBurnRequest(1), aBurnRequest(1, { type: 'NOPE' })]];
    const first = await api.burnBatch(project, elements, key);
    const before = await supplyOf(api, project);
    const again = await api.burnBatch(project, elements, key);
    expect([first.done().errors.length, again.replayed]).toEqual([1, true]);
    expect(again.http.bytes).toEqual(first.http.bytes);
    expect(await supplyOf(api, project)).toBe(before);
  });

  it('refuses another body under the same key', async () => {
    const { project } = under();
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    (await under().burn(project, request, key)).done();
    for (const more of [{ burnAmount: 2 }, { persistOnchain: true }, { proof: { order: 1, more: 1 } }]) {
      const answer = await under().burn(project, { ...request, ...more }, key);
      answer.refused(422, 'ERR_IDEMPOTENCY_KEY_REUSED');
    }
  });

  it('counts a key per project and operation, whichever API key brings it', async () => {
    const api = under();
    const [key, request, { project }] = [randomUUID(), aBurnRequest(1), api];
    const second = await api.service.createKey({ scopes: ['burn'], proofTypes: null });
    const before = await supplyOf(api, project);
    (await api.burn(project, request, key)).done();
    expect((await api.burn(second.key, request, key)).replayed).toBe(true);
    expect((await api.burnBatch(project, [request], key)).replayed).toBe(false);
    expect((await api.burn(await api.register(), request, key)).replayed).toBe(false);
    expect(before - (await supplyOf(api, project))).toBe(2n * UNIT);
  });

  it('does not use a key up when the request fails, and says so where its content alone is refused', async () => {
    const api = under();
    const project = await api.register({ dailyBurn: '1', burnWalletTokens: '2', vaultTokens: '5' });
    const key = randomUUID();
    const refusals = [
      await api.burn(project, aBurnRequest(2), key),
      await api.burn(project, aBurnRequest(1, { type: 'NOPE' }), key),
      await api.initBatch(project, burning(2), key),
      await api.initBatch(project, burning(6), key),
    ];
    expect(refusals.map((answer) => [(answer.body as { error: string }).error, saysUnused(answer)])).toEqual([
      ['ERR_DAILY_LIMIT_EXCEEDED', false],
      ['ERR_INVALID_PROOF', true],
      ['ERR_DAILY_LIMIT_EXCEEDED', false],
      ['ERR_INVALID_REQUEST', false],
    ]);
    expect((await api.burn(project, aBurnRequest(1), key)).replayed).toBe(false);
    // Now it is used, which the door cannot know and the service does.
    const malformed = await api.burn(project, { ...aBurnRequest(1), persistOnchain: 'yes' }, key);
    expect([malformed.status, saysUnused(malformed)]).toEqual([400, false]);
    const other = await api.burn(project, aBurnRequest(2), key);
    expect([other.status, saysUnused(other)]).toEqual([422, false]);
  });

  it(`burns once for ${MANY} identical requests at the same time`, async () => {
    const api = under();
    const project = await api.register();
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    const before = await supplyOf(api, project);
    const answers = await Promise.all(Array.from({ length: MANY }, () => api.burn(project, request, key)));
    expect(before - (await supplyOf(api, project))).toBe(UNIT);
    const done = answers.filter(({ status }) => status === 200);
    for (const answer of answers)
      if (answer.status !== 200) answer.refused(409, 'ERR_DUPLICATE_IDEMPOTENCY_KEY');
    expect(done.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(new Set(done.map((answer) => answer.done().txHash)).size).toBe(1);
  });

  it('burns once each for many different requests at the same time', async () => {
    const api = under();
    const project = await api.register();
    const before = await supplyOf(api, project);
    const burns = Array.from({ length: MANY }, (_, order) => aBurnRequest(1, { proof: { order } }));
    const answers = await Promise.all(burns.map((request) => api.burn(project, request)));
    expect(new Set(answers.map((answer) => answer.done().txHash)).size).toBe(MANY);
    expect(before - (await supplyOf(api, project))).toBe(BigInt(MANY) * UNIT);
  });

  it('starts one batch for a repeated init', async () => {
    const api = under();
    const project = await api.register();
    const key = randomUUID();
    const first = await api.initBatch(project, burning(1), key);
    const again = await api.initBatch(project, burning(1), key);
    expect([first.replayed, again.replayed]).toEqual([false, true]);
    expect(again.http.bytes).toEqual(first.http.bytes);
    (await api.initBatch(project, burning(2), key)).refused(422, 'ERR_IDEMPOTENCY_KEY_REUSED');
  });
}
