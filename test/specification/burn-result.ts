/** The result of a burn, the batch response and the error body (service specification, sections 2.2 to 2.4 and 4.2). */
import { randomUUID } from 'node:crypto';
import { beforeAll, expect } from 'vitest';
import type { BurnRequest } from './api.js';
import { it, running } from './cases.js';
import { blockTimeOf, landedRecord, memosOf, supplyOf } from './chain-reading.js';
import type { Project } from './in-process-service.js';
import { aBurnRequest, canonicalHash } from './requests.js';

const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

export function burnResults(): void {
  it('2.2: the burn result has the five fields and no others, each as its row says', async (api) => {
    const request = aBurnRequest(2.5, { persistOnchain: true, type: 'WATCH_AD', proof: { view: 7 } });
    const before = await supplyOf(api, api.project);
    const result = (await api.burn(api.project, request)).done();
    expect(before - (await supplyOf(api, api.project))).toBe(2_500_000n);
    expect(result).toEqual({
      // "Outcome; `SUCCESS` on success."
      result: 'SUCCESS',
      // "SHA256 hash of the submitted proof object."
      hash: canonicalHash(request.proof),
      // "On-chain transaction hash of the burn."
      txHash: expect.stringMatching(SIGNATURE),
      // "The proof type processed."
      type: 'WATCH_AD',
      // "When the burn was processed.": ISO 8601.
      dateBurned: await blockTimeOf(api, result.txHash),
    });
    expect((await landedRecord(api, result.txHash)).error).toBeNull();
    // "When persistOnchain was true it also confirms the proof was recorded."
    const [memo] = await memosOf(api, result.txHash);
    expect(JSON.parse(memo ?? '')).toEqual({ type: 'WATCH_AD', hash: result.hash });
  });
}

/** Three valid and two invalid elements, mixed. */
const mixed = (): BurnRequest[] => [
  aBurnRequest(1, { proof: { n: 1 } }),
  aBurnRequest(2, { proof: { b: [1, { c: 'é' }], a: null, __key: '' }, type: 'NOPE' }),
  aBurnRequest(3, { proof: { n: 3 }, persistOnchain: true, type: 'WATCH_AD' }),
  aBurnRequest(4, { proof: { n: 4 }, type: 'ALSO_NOT' }),
  aBurnRequest(5, { proof: { n: 5 } }),
];

export function burnBatches(): void {
  let project: Project;
  beforeAll(async () => {
    project = await running().register();
  });

  it('4.2: "Each element is processed individually … a failed element does not fail the request." — results as 2.3 says', async (api) => {
    const [before, key, requests] = [await supplyOf(api, project), randomUUID(), mixed()];
    const first = await api.burnBatch(project, requests, key);
    const { success, errors, ...more } = first.done();
    expect(more).toEqual({});
    const [good, bad] = [1, 0].map((odd) => requests.filter((_, index) => index % 2 !== odd)) as [
      BurnRequest[],
      BurnRequest[],
    ];
    // "Burns that succeeded. Each item has all five fields."
    const dates = await Promise.all(success.map(({ txHash }) => blockTimeOf(api, txHash)));
    expect(success).toEqual(
      good.map(({ type, proof }, at) => ({
        ...{ result: 'SUCCESS', hash: canonicalHash(proof), type, dateBurned: dates[at] },
        txHash: expect.stringMatching(SIGNATURE),
      })),
    );
    expect(new Set(success.map(({ txHash }) => txHash)).size).toBe(3);
    const memos = await Promise.all(success.map(({ txHash }) => memosOf(api, txHash)));
    expect(memos.map(({ length }) => length)).toEqual([0, 1, 0]);
    // "Burns that failed." "Batch error item (all four fields required)"
    expect(errors).toEqual(
      bad.map(({ type, proof }) => ({
        ...{ type: 'ERR_INVALID_PROOF', message: expect.stringContaining(type), proof, proofType: type },
      })),
    );
    // "Idempotency: as in 4.1."
    const again = await api.burnBatch(project, requests, key);
    expect([first.replayed, again.replayed, again.http.bytes]).toEqual([false, true, first.http.bytes]);
    expect(before - (await supplyOf(api, project))).toBe(9_000_000n);
  });

  it('4.2: "Each element is processed individually." — equal elements are as many burns', async (api) => {
    const [before, same] = [await supplyOf(api, project), aBurnRequest(1)];
    const { success, errors } = (await api.burnBatch(project, [same, same])).done();
    expect([new Set(success.map(({ txHash }) => txHash)).size, errors]).toEqual([2, []]);
    expect(before - (await supplyOf(api, project))).toBe(2_000_000n);
  });

  it('2.3: success and errors are arrays, also when empty, of an empty array too', async (api) => {
    const bad = [aBurnRequest(1, { type: 'A' }), aBurnRequest(1, { type: 'B' })];
    expect((await api.burnBatch(project, bad)).done()).toMatchObject({ success: [], errors: [{}, {}] });
    const key = randomUUID();
    const answers = [await api.burnBatch(project, [], key), await api.burnBatch(project, [], key)];
    expect(answers.map((answer) => [answer.done(), answer.replayed])).toEqual([
      [{ success: [], errors: [] }, false],
      [{ success: [], errors: [] }, true],
    ]);
  });

  it('4.2: "Body: a JSON array of burn requests" "400: … the whole request is invalid (e.g. the body is not an array)"', async (api) => {
    const before = await supplyOf(api, project);
    for (const body of [aBurnRequest(1), {}, null, 'x', 7, true, { 0: aBurnRequest(1), length: 1 }]) {
      (await api.burnBatch(project, body)).refused(400, 'ERR_INVALID_REQUEST');
    }
    for (const element of [null, 'x', 7, true, [], [aBurnRequest(1)]]) {
      const answer = await api.burnBatch(project, [aBurnRequest(1), element]);
      expect(answer.refused(400, 'ERR_INVALID_REQUEST')).toContain('[1]');
    }
    expect(await supplyOf(api, project)).toBe(before);
  });

  it('4.2: "400: … or batch processing is prevented." — more than 1,000 elements (contract 1.6)', async (api) => {
    const before = await supplyOf(api, project);
    const many = Array.from({ length: 1_001 }, () => aBurnRequest(1));
    expect((await api.burnBatch(project, many)).refused(400, 'ERR_INVALID_REQUEST')).toMatch(/1,?000/);
    expect(await supplyOf(api, project)).toBe(before);
  });

  it('4.2: "`x-idempotency-key` (required, string, format uuid)"', async (api) => {
    const before = await supplyOf(api, project);
    for (const key of [null, '', 'abc', randomUUID().slice(1), `${randomUUID()}0`, `{${randomUUID()}}`]) {
      const answer = await api.burnBatch(project, [aBurnRequest(1)], key);
      expect(answer.refused(400, 'ERR_INVALID_REQUEST')).toContain('x-idempotency-key');
    }
    expect(await supplyOf(api, project)).toBe(before);
  });
}
