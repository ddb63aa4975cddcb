import { describe, expect, it } from 'vitest';
import { attributeOutcomes } from '../../../src/client/burn-outcomes.js';
import type { BurnBatchResult, BurnRequest } from '../../../src/contract/schemas/burn.js';
import { proofHash, sha256 } from '../../../src/values/digest.js';

const element = (n: number, more: Partial<BurnRequest> = {}): BurnRequest => ({
  type: 'A',
  proof: { n },
  burnAmount: 1,
  persistOnchain: false,
  ...more,
});
const burned = (of: BurnRequest, txHash = 'tx', hash: string = proofHash(of.proof)) => ({
  result: 'SUCCESS',
  hash,
  txHash,
  type: of.type,
  dateBurned: '2026-01-31T12:00:00.000Z',
});
const failed = (of: BurnRequest, message = 'no') => ({
  message,
  type: 'ERR_INVALID_PROOF',
  proof: of.proof,
  proofType: of.type,
});
const found = (request: BurnRequest[], result: BurnBatchResult) => {
  const { outcomes, ...rest } = attributeOutcomes(request, result);
  return {
    outcomes: outcomes
      .map((outcome) => `${outcome.index} ${outcome.status === 'success' ? outcome.txHash : outcome.message}`)
      .join(),
    ...rest,
  };
};

describe('attributeOutcomes', () => {
  const [a, b, c] = [element(1), element(2), element(3)];

  it('gives each element its own outcome, whatever the order of the answer', () => {
    expect(
      found([a, b, c, element(4)], {
        success: [burned(c, 't3'), burned(a, 't1')],
        errors: [failed(element(4), 'no 4'), failed(b, 'no 2')],
      }),
    ).toEqual({
      outcomes: '0 t1,1 no 2,2 t3,3 no 4',
    });
  });

  it('gives twins one outcome each, in the order of the answer', () => {
    const twin = element(1);
    expect(
      found([a, b, twin], {
        success: [burned(b, 't2'), burned(a, 'first'), burned(a, 'second')],
        errors: [],
      }),
    ).toEqual({
      outcomes: '0 first,1 t2,2 second',
    });
    expect(found([a, twin], { success: [burned(a, 't1')], errors: [failed(a)] })).toEqual({
      outcomes: '0 t1,1 no',
    });
  });

  it('tells when it cannot know which of two that differ in amount has burned', () => {
    const larger = element(1, { burnAmount: 2 });
    const kept = element(1, { persistOnchain: true });
    for (const other of [larger, kept]) {
      const result = { success: [burned(a, 't1')], errors: [failed(a)] };
      expect(found([a, b, other], { ...result, success: [...result.success, burned(b, 't2')] }).doubt).toBe(
        '0, 2',
      );
    }
    expect(
      found([a, larger], { success: [burned(a, 't1'), burned(a, 't2')], errors: [] }).doubt,
    ).toBeUndefined();
  });

  it('takes equal proofs for equal, however they are written, and tells types apart', () => {
    const written = element(0, { proof: { a: 1, b: [{ d: 1, c: 2 }] } });
    const other = element(0, { type: 'B', proof: { b: [{ c: 2, d: 1 }], a: 1 } });
    expect(
      found([written, other], {
        success: [burned(other, 'tB')],
        errors: [failed({ ...written, proof: { b: [{ c: 2, d: 1 }], a: 1 } })],
      }),
    ).toEqual({
      outcomes: '0 no,1 tB',
    });
  });

  it('knows the hash of the canonical text and of the text as it was sent, in either case', () => {
    const unsorted = element(0, { proof: { z: 1, a: 2 } });
    const asSent = sha256(JSON.stringify(unsorted.proof));
    expect(asSent).not.toBe(proofHash(unsorted.proof));
    for (const hash of [asSent, asSent.toUpperCase(), proofHash(unsorted.proof)]) {
      expect(
        found([a, unsorted], { success: [burned(unsorted, 't2', hash), burned(a, 't1')], errors: [] }),
      ).toEqual({
        outcomes: '0 t1,1 t2',
      });
    }
  });

  it('attributes hashes of another kind by type and order', () => {
    const other = element(9, { type: 'B' });
    const strange = (of: BurnRequest, txHash: string) => burned(of, txHash, 'base64:abc');
    expect(
      found([a, b, other, c], {
        success: [strange(other, 'tB'), strange(a, 't1'), strange(c, 't3')],
        errors: [failed(b)],
      }),
    ).toEqual({
      outcomes: '0 t1,1 no,2 tB,3 t3',
      foreignHash: 'base64:abc',
    });
  });

  it('attributes errors whose proof came back changed where there is no doubt', () => {
    const changed = { ...failed(b), proof: { n: '2', by: 'the service' } };
    expect(found([a, b], { success: [burned(a, 't1')], errors: [changed] })).toEqual({
      outcomes: '0 t1,1 no',
    });
  });

  it('does not guess which element burned', () => {
    const result = {
      success: [burned(a, 't1', 'strange')],
      errors: [{ ...failed(b), proof: { changed: true } }],
    };
    const { outcomes, problem } = found([a, b], result);
    expect(problem).toBe('unclear which elements of type "A" burned and which failed');
    expect(outcomes).toBe('');
  });

  it('names what does not belong to the request', () => {
    const other = element(9, { type: 'B' });
    expect(found([a, b], { success: [burned(a)], errors: [] }).problem).toBe('1 results for 2 elements');
    expect(found([a], { success: [burned(a), burned(a)], errors: [] }).problem).toBe(
      '2 results for 1 elements',
    );
    for (const result of [
      { success: [burned(a), burned(other)], errors: [] },
      { success: [burned(a)], errors: [failed(other)] },
    ])
      expect(found([a, b], result).problem).toMatch(
        /result of type "B" for an element that was not sent|no result for an element of type "A"/,
      );
    expect(found([a, other], { success: [burned(a), burned(a)], errors: [] }).problem).toMatch(/type/);
  });

  it('copes with proofs that have no canonical form', () => {
    const odd = element(0, { proof: { half: '\ud800' } });
    expect(found([odd, a], { success: [burned(a, 't1')], errors: [failed(odd)] })).toEqual({
      outcomes: '0 no,1 t1',
    });
  });
});
