/**
 * Values that cannot be burned in a well-formed request: an error code by element; and unknown properties (specification,
 * sections 2.1, 2.3 and 7; contract, section 1.3).
 */
import { expect } from 'vitest';
import type { Api } from './api.js';
import { it } from './cases.js';
import { supplyOf } from './chain-reading.js';
import { aBurnRequest, canonicalHash } from './requests.js';

const UNIT = 1_000_000n;

const AMOUNTS: readonly (readonly [string, number, RegExp])[] = [
  ['zero', 0, /positive/i],
  ['negative', -1, /positive/i],
  ['more decimals than the token has', 0.0000001, /decimals/i],
  ['a sum of doubles', 0.1 + 0.2, /decimals/i],
  ['out of the range of a u64', 18_446_744_073_710, /more than|range|hold/i],
  ['far out of range', 1e300, /more than|range|hold/i],
];

const NO_PROOFS: readonly unknown[] = [
  ...[[], [{ orderId: 1 }], 'text', '', 7, true, false, null],
  { text: '\ud800' },
];

const TYPES: readonly (readonly [string, string])[] = [
  ['unknown', 'NOPE'],
  ['empty', ''],
  ['too long', 'X'.repeat(65)],
  ['far too long', 'X'.repeat(5_000)],
];

/**
 * In a batch only this element is refused, between two that burn, and gets its proof back; alone the request is refused with the
 * same code.
 */
async function refused(
  api: Api,
  bad: { readonly proof: unknown; readonly type: string },
  code: string,
  why = /\S/,
): Promise<void> {
  const before = await supplyOf(api, api.project);
  const answer = await api.burnBatch(api.project, [aBurnRequest(1), bad, aBurnRequest(2)]);
  const { success, errors } = answer.done();
  expect(success.map(({ hash }) => hash)).toEqual([1, 2].map((order) => canonicalHash({ order })));
  expect(errors).toEqual([
    { type: code, message: expect.stringMatching(why), proof: bad.proof, proofType: bad.type },
  ]);
  expect((await api.burn(api.project, bad)).refused(400, code)).toMatch(why);
  expect(before - (await supplyOf(api, api.project))).toBe(3n * UNIT);
}

export function burnValues(): void {
  for (const [name, burnAmount, why] of AMOUNTS)
    it(`2.1, 8: burnAmount "Must be positive." — ${name}: ERR_BURN_TOKENOMICS_FAILED with the reason, for the element or alone`, (api) =>
      refused(api, aBurnRequest(burnAmount, { proof: {} }), 'ERR_BURN_TOKENOMICS_FAILED', why));

  for (const proof of NO_PROOFS)
    it(`7: "ERR_INVALID_PROOF — … the proof object is invalid" — the proof ${JSON.stringify(proof)}`, (api) =>
      refused(api, { ...aBurnRequest(1), proof }, 'ERR_INVALID_PROOF'));

  it('7, contract 1.6: "ERR_INVALID_PROOF — … the proof object is invalid" — more than 64 KiB of canonical JSON', (api) => {
    const proof = { text: 'x'.repeat(64 * 1_024) };
    return refused(api, aBurnRequest(1, { proof }), 'ERR_INVALID_PROOF', /65,?536|64 KiB/);
  });

  for (const [name, type] of TYPES)
    it(`7: "ERR_INVALID_PROOF — The proof type is not recognised" — a type that is ${name}`, (api) =>
      refused(api, aBurnRequest(1, { type }), 'ERR_INVALID_PROOF'));

  it('2.3: an element with several faults has one error item', async (api) => {
    const bad = { ...aBurnRequest(-1), type: '', proof: [] };
    const { success, errors } = (await api.burnBatch(api.project, [bad, bad])).done();
    expect([success.length, errors.length]).toEqual([0, 2]);
  });

  it('2.1: further properties of a burn request do not count, alone or in an array', async (api) => {
    const project = await api.register();
    const before = await supplyOf(api, project);
    const more = { note: 'x', amount: 5, dryRun: true, hash: null };
    const single = (await api.burn(project, { ...aBurnRequest(1), ...more })).done();
    expect([Object.keys(single).length, single.hash]).toEqual([5, canonicalHash({ order: 1 })]);
    const elements = [
      { ...aBurnRequest(1), id: 'row-1' },
      { ...aBurnRequest(2, { type: 'NOPE' }), id: 'row-2' },
    ];
    const { success, errors } = (await api.burnBatch(project, elements)).done();
    expect(success.map((item) => Object.keys(item).length)).toEqual([5]);
    expect(errors.map((item) => Object.keys(item).sort())).toEqual([
      ['message', 'proof', 'proofType', 'type'],
    ]);
    expect(before - (await supplyOf(api, project))).toBe(2n * UNIT);
  });
}
