/**
 * Values that cannot be burned in a well-formed request: an error code by element; and unknown properties (specification,
 * sections 2.1, 2.3 and 7; contract, section 1.3).
 */
import { expect } from 'vitest';
import { it, running } from './cases.js';
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

export function burnValues(): void {
  /** Puts the element between two valid ones: those burn, the element is refused, and the status is 200. */
  const refusedInBatch = async (
    bad: { readonly proof: unknown; readonly type: string },
    type: string,
    why = /\S/,
  ): Promise<void> => {
    const api = running();
    const before = await supplyOf(api, api.project);
    const answer = await api.burnBatch(api.project, [aBurnRequest(1), bad, aBurnRequest(2)]);
    const { success, errors } = answer.done();
    expect(success.map(({ hash }) => hash)).toEqual([1, 2].map((order) => canonicalHash({ order })));
    expect(errors).toEqual([
      { type, message: expect.stringMatching(why), proof: bad.proof, proofType: bad.type },
    ]);
    expect(before - (await supplyOf(api, api.project))).toBe(3n * UNIT);
  };
  const refusedAlone = async (bad: unknown, code: string): Promise<string> => {
    const api = running();
    const before = await supplyOf(api, api.project);
    const message = (await api.burn(api.project, bad)).refused(400, code);
    expect(await supplyOf(api, api.project)).toBe(before);
    return message;
  };

  for (const [name, burnAmount, why] of AMOUNTS) {
    it(`2.1, 8: burnAmount "Must be positive." — ${name}: ERR_BURN_TOKENOMICS_FAILED for the element, with the reason`, () =>
      refusedInBatch(aBurnRequest(burnAmount, { proof: {} }), 'ERR_BURN_TOKENOMICS_FAILED', why));

    it(`2.1, 8: burnAmount "Must be positive." — ${name}: 400 ERR_BURN_TOKENOMICS_FAILED for a single burn`, async () => {
      expect(
        await refusedAlone(aBurnRequest(burnAmount, { proof: {} }), 'ERR_BURN_TOKENOMICS_FAILED'),
      ).toMatch(why);
    });
  }

  for (const proof of NO_PROOFS) {
    const text = JSON.stringify(proof);
    it(`7: "ERR_INVALID_PROOF — … the proof object is invalid" — the proof ${text}, for the element, which gets it back`, () =>
      refusedInBatch({ ...aBurnRequest(1), proof }, 'ERR_INVALID_PROOF'));

    it(`7: "ERR_INVALID_PROOF — … the proof object is invalid" — the proof ${text}, for a single burn`, async () => {
      await refusedAlone({ ...aBurnRequest(1), proof }, 'ERR_INVALID_PROOF');
    });
  }

  it('7, contract 1.6: "ERR_INVALID_PROOF — … the proof object is invalid" — more than 64 KiB of canonical JSON', async () => {
    const large = aBurnRequest(1, { proof: { text: 'x'.repeat(64 * 1_024) } });
    await refusedInBatch({ ...large }, 'ERR_INVALID_PROOF', /65,?536|64 KiB/);
    await refusedAlone(large, 'ERR_INVALID_PROOF');
  });

  for (const [name, type] of TYPES) {
    it(`7: "ERR_INVALID_PROOF — The proof type is not recognised" — a type that is ${name}`, async () => {
      await refusedInBatch(aBurnRequest(1, { type }), 'ERR_INVALID_PROOF');
      await refusedAlone(aBurnRequest(1, { type }), 'ERR_INVALID_PROOF');
    });
  }

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
