/** What a burn answers: its result, the batch response and the error body (service specification, sections 2.2 to 2.4 and 4.2). */
import { randomUUID } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import type { Project } from '../support/in-process-service.js';
import type { Api, BurnRequest, BurnResult } from './api.js';
import { blockTimeOf, landedRecord, memosOf, supplyOf } from './chain-reading.js';
import { aBurnRequest, canonicalHash } from './requests.js';

const RESULT_FIELDS = ['dateBurned', 'hash', 'result', 'txHash', 'type'];
const ERROR_FIELDS = ['message', 'proof', 'proofType', 'type'];
const ISO_DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

const fieldsOf = (value: object): string[] => Object.keys(value).sort();

export function burnResults(under: () => Api): void {
  const request: BurnRequest = aBurnRequest(2.5, {
    persistOnchain: true,
    type: 'WATCH_AD',
    proof: { view: 7 },
  });
  let result: BurnResult;
  let burned: bigint;

  beforeAll(async () => {
    const api = under();
    const before = await supplyOf(api, api.project);
    result = (await api.burn(api.project, request)).done();
    burned = before - (await supplyOf(api, api.project));
  });

  it('2.2: the burn result has the five fields and no others', () => {
    expect(fieldsOf(result)).toEqual(RESULT_FIELDS);
  });

  it('2.2: result — "Outcome; `SUCCESS` on success."', () => {
    expect(result.result).toBe('SUCCESS');
  });

  it('2.2: hash — "SHA256 hash of the submitted proof object."', () => {
    expect(result.hash).toBe(canonicalHash(request.proof));
    expect(result.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it('2.2: txHash — "On-chain transaction hash of the burn."', async () => {
    expect(result.txHash).toMatch(SIGNATURE);
    expect((await landedRecord(under(), result.txHash)).error).toBeNull();
    expect(burned).toBe(2_500_000n);
  });

  it('2.2: txHash — "When persistOnchain was true it also confirms the proof was recorded."', async () => {
    const [memo] = await memosOf(under(), result.txHash);
    expect(JSON.parse(memo ?? '')).toEqual({ type: 'WATCH_AD', hash: canonicalHash(request.proof) });
  });

  it('2.2: type — "The proof type processed."', () => {
    expect(result.type).toBe('WATCH_AD');
  });

  it('2.2: dateBurned — "string, ISO 8601 date-time: When the burn was processed."', async () => {
    expect(result.dateBurned).toMatch(ISO_DATE_TIME);
    expect(result.dateBurned).toBe(await blockTimeOf(under(), result.txHash));
  });
}

/** Three good elements and two bad ones, in a mixed order. */
const mixed = (): BurnRequest[] => [
  aBurnRequest(1, { proof: { n: 1 } }),
  aBurnRequest(2, { proof: { n: 2 }, type: 'NOPE' }),
  aBurnRequest(3, { proof: { n: 3 }, persistOnchain: true, type: 'WATCH_AD' }),
  aBurnRequest(4, { proof: { n: 4 }, type: 'ALSO_NOT' }),
  aBurnRequest(5, { proof: { n: 5 } }),
];

export function burnBatches(under: () => Api): void {
  let project: Project;
  beforeAll(async () => {
    project = await under().register();
  });

  it('2.3: success and errors are arrays, also when empty', async () => {
    const api = under();
    const [good, bad] = [aBurnRequest(1), aBurnRequest(1, { type: 'NOPE' })];
    const answers = [await api.burnBatch(project, [good]), await api.burnBatch(project, [bad])];
    expect(answers.map((answer) => fieldsOf(answer.done()))).toEqual([
      ['errors', 'success'],
      ['errors', 'success'],
    ]);
    expect(answers.map((answer) => [answer.done().success.length, answer.done().errors.length])).toEqual([
      [1, 0],
      [0, 1],
    ]);
  });

  it('4.2: "a JSON array of burn requests" — also an empty one, and its repeat', async () => {
    const key = randomUUID();
    const answers = [await under().burnBatch(project, [], key), await under().burnBatch(project, [], key)];
    expect(answers.map((answer) => [answer.done(), answer.replayed])).toEqual([
      [{ success: [], errors: [] }, false],
      [{ success: [], errors: [] }, true],
    ]);
  });

  it('2.3: success — "Burns that succeeded. Each item has all five fields."', async () => {
    const api = under();
    const requests = mixed();
    const { success } = (await api.burnBatch(project, requests)).done();
    const good = requests.filter((_, index) => index % 2 === 0);
    for (const [index, item] of success.entries()) {
      expect(fieldsOf(item)).toEqual(RESULT_FIELDS);
      expect(item).toMatchObject({
        result: 'SUCCESS',
        hash: canonicalHash(good[index]?.proof),
        type: good[index]?.type,
        dateBurned: await blockTimeOf(api, item.txHash),
      });
    }
    expect(success).toHaveLength(3);
    expect(
      (await Promise.all(success.map(({ txHash }) => memosOf(api, txHash)))).map(({ length }) => length),
    ).toEqual([0, 1, 0]);
  });

  it('2.3: errors — "Burns that failed." "Batch error item (all four fields required)"', async () => {
    const { errors } = (await under().burnBatch(project, mixed())).done();
    expect(errors).toHaveLength(2);
    for (const item of errors) expect(fieldsOf(item)).toEqual(ERROR_FIELDS);
  });

  it('2.3: message — "Reason this operation failed."', async () => {
    const { errors } = (await under().burnBatch(project, mixed())).done();
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('NOPE'),
      expect.stringContaining('ALSO_NOT'),
    ]);
  });

  it('2.3: type — "Error code of this failure, e.g. `ERR_INVALID_PROOF`."', async () => {
    const { errors } = (await under().burnBatch(project, mixed())).done();
    expect(errors.map(({ type }) => type)).toEqual(['ERR_INVALID_PROOF', 'ERR_INVALID_PROOF']);
  });

  it('2.3: proof — "The proof submitted for the failed operation."', async () => {
    const proof = { b: [1, { c: 'é' }], a: null, __key: '' };
    const { errors } = (await under().burnBatch(project, [aBurnRequest(1, { type: 'NOPE', proof })])).done();
    expect(JSON.stringify(errors[0]?.proof)).toBe(JSON.stringify(proof));
  });

  it('2.3: proofType — "The `type` submitted for the failed operation."', async () => {
    const { errors } = (await under().burnBatch(project, mixed())).done();
    expect(errors.map(({ proofType }) => proofType)).toEqual(['NOPE', 'ALSO_NOT']);
  });

  it('4.2: "Each element is processed individually."', async () => {
    const api = under();
    const before = await supplyOf(api, project);
    const { success } = (await api.burnBatch(project, mixed())).done();
    expect(new Set(success.map(({ txHash }) => txHash)).size).toBe(3);
    expect(before - (await supplyOf(api, project))).toBe(9_000_000n);
    // Equal elements are as many burns.
    const same = aBurnRequest(1);
    const twice = (await api.burnBatch(project, [same, same])).done();
    expect(new Set(twice.success.map(({ txHash }) => txHash)).size).toBe(2);
    expect(before - (await supplyOf(api, project))).toBe(11_000_000n);
  });

  it('4.2: "The response is status 200 with the batch burn response (2.3) … a failed element does not fail the request."', async () => {
    const api = under();
    expect((await api.burnBatch(project, mixed())).status).toBe(200);
    const allBad = await api.burnBatch(project, [
      aBurnRequest(1, { type: 'A' }),
      aBurnRequest(1, { type: 'B' }),
    ]);
    expect([allBad.done().success.length, allBad.done().errors.length]).toEqual([0, 2]);
  });

  it('4.2: "Body: a JSON array of burn requests" "400: … the whole request is invalid (e.g. the body is not an array)"', async () => {
    const api = under();
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

  it('4.2: "400: … or batch processing is prevented." — more than 1,000 elements (contract 1.6)', async () => {
    const api = under();
    const before = await supplyOf(api, project);
    const many = Array.from({ length: 1_001 }, () => aBurnRequest(1));
    expect((await api.burnBatch(project, many)).refused(400, 'ERR_INVALID_REQUEST')).toMatch(/1,?000/);
    expect(await supplyOf(api, project)).toBe(before);
  });

  it('4.2: "`x-idempotency-key` (required, string, format uuid)"', async () => {
    const api = under();
    const before = await supplyOf(api, project);
    for (const key of [null, '', 'abc', randomUUID().slice(1), `${randomUUID()}0`, `{${randomUUID()}}`]) {
      const answer = await api.burnBatch(project, [aBurnRequest(1)], key);
      expect(answer.refused(400, 'ERR_INVALID_REQUEST')).toContain('x-idempotency-key');
    }
    expect(await supplyOf(api, project)).toBe(before);
  });

  it('4.2: "401: error body; API key missing or invalid."', async () => {
    const api = under();
    for (const key of [null, '', 'fwk_unknown']) {
      (await api.burnBatch(key, [aBurnRequest(1)])).refused(401, 'ERR_UNAUTHORIZED');
    }
  });

  it('4.2: "Other whole-request failures (authentication …) give a standard 4xx or 5xx error response."', async () => {
    const api = under();
    const { key } = await api.service.createKey({ scopes: ['airdrop'], proofTypes: null });
    (await api.burnBatch(key, [aBurnRequest(1)])).refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED');
  });

  it('4.2: "Idempotency: as in 4.1." — successes and failures are those of the first time', async () => {
    const api = under();
    const [key, requests] = [randomUUID(), mixed()];
    const before = await supplyOf(api, project);
    const first = await api.burnBatch(project, requests, key);
    const again = await api.burnBatch(project, requests, key);
    expect(again.done()).toEqual(first.done());
    expect(again.http.bytes).toEqual(first.http.bytes);
    expect([first.replayed, again.replayed]).toEqual([false, true]);
    expect(before - (await supplyOf(api, project))).toBe(9_000_000n);
  });
}
