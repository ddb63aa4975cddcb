/** Numbers that a double cannot represent are refused in a proof, so that no two proofs share a hash (contract, section 1.3). */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { it } from './cases.js';
import { supplyOf } from './chain-reading.js';
import { aPipeline, burnAction, canonicalHash } from './requests.js';

/** Texts that parse to another decimal. */
const NOT_CARRIED = [
  '9007199254740993',
  '9007199254740995',
  '-9007199254740993',
  '12345678901234567890',
  '18446744073709551615',
  '1000000000000000000000001',
  '0.1000000000000000055511151231257827',
  '1.00000000000000000001',
  '1e400',
  '1e-400',
];
const CARRIED = [
  ...['9007199254740991', '-9007199254740991', '1.50', '15e-1', '1e15', '0.1', '-0.0', '5e-324'],
  // Beyond 2^53 (RFC 8785, section 3.2.2.3 and appendix B).
  ...['9007199254740992', '-9007199254740992', '9007199254740994', '295147905179352830000', '1e21', '1E30'],
  ...['333333333.3333333', '1000000000000000000000000', '1.7976931348623157e308'],
];

const burnText = (proof: string, burnAmount = '1'): string =>
  `{"type":"PRODUCT_BUY","proof":${proof},"burnAmount":${burnAmount},"persistOnchain":false}`;

const PLACES = [
  (number: string) => `{"id":${number}}`,
  (number: string) => `{"list":[{"deep":[1,${number}]}]}`,
];

export function exactPayloads(): void {
  it('contract 1.3: "ERR_INVALID_PROOF: also a proof that … has a number that a double cannot carry" — the payload of a pipeline', async (api) => {
    const project = await api.register();
    for (const number of NOT_CARRIED) {
      for (const place of PLACES) {
        const pipelines = [
          aPipeline([burnAction(1)]),
          aPipeline([burnAction(1)], { payload: place(number) }),
        ];
        const answer = await api.initBatch(project, { pipelines });
        const message = answer.refused(400, 'ERR_INVALID_PROOF');
        expect(message).toContain('pipelines[1].payload');
        expect(message).toContain('write it as text');
      }
    }
    expect((await api.currentBatch(project)).done()).toBeNull();
  });

  it('contract 1.3: numbers that a double carries are taken, whatever way they are written', async (api) => {
    const project = await api.register();
    const payloads = [...CARRIED, '"9007199254740993"'].map((number) => `{"id":${number}}`);
    const pipelines = payloads.map((payload) => aPipeline([burnAction(1)], { payload }));
    const init = (await api.initBatch(project, { pipelines })).done();
    expect(init.batch.pipelines.map(({ proofHash }) => proofHash)).toEqual(
      payloads.map((payload) => canonicalHash(JSON.parse(payload))),
    );
  });
}

export function exactBodies(): void {
  it('contract 1.3: "ERR_INVALID_PROOF: … a number that a double cannot carry" — a single burn', async (api) => {
    const { http } = api;
    const before = await supplyOf(api, api.project);
    for (const number of NOT_CARRIED) {
      for (const place of PLACES) {
        const answer = await http.post('burn', api.project, burnText(place(number)));
        expect(answer.refused(400, 'ERR_INVALID_PROOF')).toContain('write it as text');
      }
    }
    expect(await supplyOf(api, api.project)).toBe(before);
  });

  it('contract 1.3: "ERR_INVALID_PROOF" — per element of a batch, the others burn', async (api) => {
    const { http } = api;
    const before = await supplyOf(api, api.project);
    for (const number of NOT_CARRIED) {
      const text = `[${[burnText('{"id":1}'), burnText(`{"id":${number}}`), burnText('{"id":2}')].join(',')}]`;
      const answer = await http.post<{
        success: { hash: string }[];
        errors: { type: string; message: string }[];
      }>('burnBatch', api.project, text, { 'x-idempotency-key': randomUUID() });
      const { success, errors } = answer.done();
      expect(success.map(({ hash }) => hash)).toEqual([1, 2].map((id) => canonicalHash({ id })));
      expect(errors.map(({ type }) => type)).toEqual(['ERR_INVALID_PROOF']);
      expect(errors[0]?.message).toContain('write it as text');
    }
    expect(before - (await supplyOf(api, api.project))).toBe(BigInt(2 * NOT_CARRIED.length) * 1_000_000n);
  });

  it('2.3: proof — "The proof submitted for the failed operation.", digit by digit, also in the answer to a repeat', async (api) => {
    const { http } = api;
    const proofs = NOT_CARRIED.map((number) => `{"id":[${number}]}`);
    const text = `[${proofs.map((proof) => burnText(proof)).join(',')}]`;
    const key = { 'x-idempotency-key': randomUUID() };
    const first = await http.post<{ errors: { type: string }[] }>('burnBatch', api.project, text, key);
    expect(first.done().errors).toHaveLength(proofs.length);
    const bytes = first.http.bytes.toString();
    for (const proof of proofs) expect(bytes).toContain(`"proof":${proof}`);
    const repeat = await http.post('burnBatch', api.project, text, key);
    expect(repeat.http.headers['idempotent-replayed']).toBe('true');
    expect(repeat.http.bytes.toString()).toBe(bytes);
  });

  it('contract 1.3: numbers that a double carries are taken, whatever way they are written', async (api) => {
    const { http } = api;
    for (const number of CARRIED) {
      const proof = `{"id":${number}}`;
      const answer = await http.post<{ hash: string }>('burn', api.project, burnText(proof));
      expect(answer.done().hash).toBe(canonicalHash(JSON.parse(proof)));
    }
  });

  it('contract 1.4: "had a different body | 422" — also when a double would not tell them apart', async (api) => {
    const { http } = api;
    const key = { 'x-idempotency-key': randomUUID() };
    const text = (id: string) => `[${burnText(`{"id":${id}}`)}]`;
    (await http.post('burnBatch', api.project, text('9007199254740993'), key)).done();
    const other = await http.post('burnBatch', api.project, text('9007199254740992'), key);
    other.refused(422, 'ERR_IDEMPOTENCY_KEY_REUSED');
  });

  it('contract 1.6: an amount with more decimals than a double carries is not rounded: ERR_BURN_TOKENOMICS_FAILED', async (api) => {
    const { http } = api;
    const before = await supplyOf(api, api.project);
    for (const amount of ['0.10000000000000000000001', '1.0000000000000000001', '18446744073709551616']) {
      const single = await http.post('burn', api.project, burnText('{}', amount));
      single.refused(400, 'ERR_BURN_TOKENOMICS_FAILED');
      const text = `[${burnText('{}', amount)}]`;
      const key = { 'x-idempotency-key': randomUUID() };
      const batch = await http.post<{ errors: { type: string }[] }>('burnBatch', api.project, text, key);
      expect(batch.done().errors.map(({ type }) => type)).toEqual(['ERR_BURN_TOKENOMICS_FAILED']);
    }
    expect(await supplyOf(api, api.project)).toBe(before);
  });

  it('contract 1.6: "Nothing is rounded, ever." — amounts that no double holds burn nothing', async (api) => {
    const { http } = api;
    const project = await api.register({ decimals: 0, supply: '18000000000000000000' });
    const before = await supplyOf(api, project);
    for (const amount of ['9007199254740993', '1e400', '1e-400', '1.0000000000000000000000000000001']) {
      expect((await http.post('burn', project, burnText('{}', amount))).status).toBe(400);
    }
    expect(await supplyOf(api, project)).toBe(before);
    (await http.post('burn', project, burnText('{}', '10.0e-1'))).done();
    expect(before - (await supplyOf(api, project))).toBe(1n);
  });

  it('2.1: proof — "free-form, any properties": `__proto__` is one like any other', async (api) => {
    const { http } = api;
    const proof = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}';
    const answer = await http.post<{ hash: string }>('burn', api.project, burnText(proof));
    expect(answer.done().hash).toBe(canonicalHash(JSON.parse(proof)));
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });
}
