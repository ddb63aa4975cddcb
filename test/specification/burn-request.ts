/** Requirements on a burn request (service specification, sections 1, 2.1, 4.1 and 9). */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { it } from './cases.js';
import { balanceOf, supplyOf } from './chain-reading.js';
import { aBurnRequest, canonicalHash } from './requests.js';

const UNIT = 1_000_000n;
const FIELDS = ['type', 'proof', 'burnAmount', 'persistOnchain'] as const;

const without = (field: string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(aBurnRequest(1)).filter(([name]) => name !== field));

export function burnRequests(): void {
  it('1: "It burns a stated quantity of a token on behalf of a project."', async (api) => {
    const [project, other] = [await api.register(), await api.register()];
    const { burnWallet } = project;
    const before = [
      await supplyOf(api, project),
      await balanceOf(api, project, burnWallet),
      await supplyOf(api, other),
    ] as const;
    (await api.burn(project, aBurnRequest(12.345678))).done();
    expect(before[0] - (await supplyOf(api, project))).toBe(12_345_678n);
    expect(before[1] - (await balanceOf(api, project, burnWallet))).toBe(12_345_678n);
    expect(await supplyOf(api, other)).toBe(before[2]);
  });

  it('1: "The SHA256 hash of the proof is returned." 2.1: proof — "object (free-form, any properties)"', async (api) => {
    const deep = JSON.parse(`${'{"a":'.repeat(40)}1${'}'.repeat(40)}`) as Record<string, never>;
    for (const proof of [
      {},
      { b: 1, a: 2 },
      {
        '\u{1F600}': 1,
        '\uFB33': 2,
        é: 'ü',
        a: [1.5, 9007199254740991, 1e-7, -0, null, true, { z: {}, y: [] }],
      },
      { text: 'quote " backslash \\ tab \t line \n unit \u001f slash /' },
      { constructor: 1, toString: 'x', hasOwnProperty: null },
      { '': '' },
      { type: 'X', burnAmount: -1, list: [[], {}, null, false, 0.1] },
      deep,
    ]) {
      const answer = await api.burn(api.project, aBurnRequest(1, { proof }));
      expect(answer.done().hash).toBe(canonicalHash(proof));
    }
  });

  it('2.1: type — "Its allowed values are defined per project and per API key."', async (api) => {
    const cinema = await api.register({ proofTypes: ['CINEMA'] });
    (await api.burn(cinema, aBurnRequest(1, { type: 'CINEMA' }))).done();
    (await api.burn(cinema, aBurnRequest(1, { type: 'WATCH_AD' }))).refused(400, 'ERR_INVALID_PROOF');
    (await api.burn(api.project, aBurnRequest(1, { type: 'CINEMA' }))).refused(400, 'ERR_INVALID_PROOF');
    const { key } = await api.service.createKey({ scopes: ['burn'], proofTypes: ['WATCH_AD'] });
    (await api.burn(key, aBurnRequest(1, { type: 'WATCH_AD' }))).done();
    (await api.burn(key, aBurnRequest(1))).refused(400, 'ERR_INVALID_PROOF');
    const both = [aBurnRequest(1), aBurnRequest(1, { type: 'WATCH_AD' })];
    const { success, errors } = (await api.burnBatch(key, both)).done();
    expect([success.length, errors]).toMatchObject([
      1,
      [{ type: 'ERR_INVALID_PROOF', proofType: 'PRODUCT_BUY' }],
    ]);
  });

  it('2.1: type — a string, of which case and white space count', async (api) => {
    for (const type of ['product_buy', ' PRODUCT_BUY', 'PRODUCT_BUY ']) {
      (await api.burn(api.project, aBurnRequest(1, { type }))).refused(400, 'ERR_INVALID_PROOF');
    }
  });

  it('2.1: each of the four fields is required', async (api) => {
    const before = await supplyOf(api, api.project);
    for (const field of FIELDS) {
      expect((await api.burn(api.project, without(field))).refused(400, 'ERR_INVALID_REQUEST')).toContain(
        field,
      );
    }
    expect(await supplyOf(api, api.project)).toBe(before);
  });

  it('2.1: a field of another JSON type is refused by its name', async (api) => {
    const before = await supplyOf(api, api.project);
    for (const [field, value] of [
      ['type', 5],
      ['type', null],
      ['type', ['PRODUCT_BUY']],
      ['burnAmount', '1'],
      ['burnAmount', null],
      ['burnAmount', [1]],
      ['burnAmount', true],
      ['persistOnchain', 1],
      ['persistOnchain', 'true'],
      ['persistOnchain', null],
    ] as const) {
      const answer = await api.burn(api.project, { ...aBurnRequest(1), [field]: value });
      expect(answer.refused(400, 'ERR_INVALID_REQUEST')).toContain(field);
    }
    expect(await supplyOf(api, api.project)).toBe(before);
  });

  it('2.1: "one burn; also each element of a batch request" — the same rules of structure, by index, and one bad element refuses all', async (api) => {
    const before = await supplyOf(api, api.project);
    for (const [field, bad] of [
      ...FIELDS.map((name) => [name, without(name)] as const),
      ['type', { ...aBurnRequest(1), type: 5 }] as const,
      ['burnAmount', { ...aBurnRequest(1), burnAmount: '1' }] as const,
      ['persistOnchain', { ...aBurnRequest(1), persistOnchain: 1 }] as const,
      ['', null] as const,
    ]) {
      const answer = await api.burnBatch(api.project, [aBurnRequest(1), bad, aBurnRequest(0)]);
      const message = answer.refused(400, 'ERR_INVALID_REQUEST');
      expect(message).toMatch(new RegExp(`\\[1\\].*${field}`));
      expect(message).not.toMatch(/\[[02]\]/);
    }
    expect(await supplyOf(api, api.project)).toBe(before);
  });

  it('4.1: "Body: burn request (2.1)." — nothing else', async (api) => {
    for (const body of [[], [aBurnRequest(1)], null, 'x', 7, true]) {
      (await api.burn(api.project, body)).refused(400, 'ERR_INVALID_REQUEST');
    }
  });

  it('4.1: "when a request repeats the `x-idempotency-key` of an earlier successful request, the operation is not performed again and the original result is returned"', async (api) => {
    const [key, request] = [randomUUID(), aBurnRequest(3, { persistOnchain: true })];
    const before = await supplyOf(api, api.project);
    const first = await api.burn(api.project, request, key);
    const height = await api.service.landedCount();
    const again = await api.burn(api.project, request, key);
    expect(again.done()).toEqual(first.done());
    expect(again.http.bytes).toEqual(first.http.bytes);
    expect(before - (await supplyOf(api, api.project))).toBe(3n * UNIT);
    expect(await api.service.landedCount()).toBe(height);
  });

  it('4.1: "(at most once processing)" — also for many at the same time', async (api) => {
    const project = await api.register();
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    const before = await supplyOf(api, project);
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.burn(project, request, key)));
    for (const answer of answers) {
      if (answer.status !== 200) answer.refused(409, 'ERR_DUPLICATE_IDEMPOTENCY_KEY');
    }
    const done = answers.filter(({ status }) => status === 200);
    expect(new Set(done.map((answer) => answer.done().txHash)).size).toBe(1);
    expect(done.filter(({ replayed }) => !replayed).length).toBe(1);
    expect(before - (await supplyOf(api, project))).toBe(UNIT);
  });

  it('4.1: without an idempotency key, or with another one, the same request is a burn of its own', async (api) => {
    const request = aBurnRequest(1);
    const answers = [
      await api.burn(api.project, request),
      await api.burn(api.project, request),
      await api.burn(api.project, request, randomUUID()),
      await api.burn(api.project, request, randomUUID()),
    ];
    expect(new Set(answers.map((answer) => answer.done().txHash)).size).toBe(4);
  });
}
