/** Services that contradict the request, echo the key, or send more than fits into memory. */
import { describe, expect, it } from 'vitest';
import type { Call } from '../../../src/contract/call.js';
import type { Batch, InitBatchRequest } from '../../../src/contract/schemas/batch.js';
import type { BurnBatchResult, BurnRequest, BurnResult } from '../../../src/contract/schemas/burn.js';
import type { AnswerOf, InputOf, Service } from '../../../src/contract/service.js';
import type { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { base58Encode } from '../../../src/values/bytes.js';
import { proofHash, sha256 } from '../../../src/values/digest.js';
import { Secret } from '../../../src/values/secret.js';
import { EXAMPLES } from '../../support/fake-service.js';
import { clientTo } from '../../support/http.js';
import { json, type StubAnswer } from '../../support/http-stub.js';
import { failureOf } from '../../support/service.js';

const KEY = 'secret-api-key-1234567890';
const UUID = '6f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f12';
const call: Call = { credential: new Secret(KEY), idempotencyKey: UUID };
const burn = EXAMPLES.burn.request as BurnRequest;
const TX = (EXAMPLES.burn.response as BurnResult).txHash;
const burned: BurnResult = { ...(EXAMPLES.burn.response as BurnResult), hash: proofHash(burn.proof) };
const init = EXAMPLES.initBatch.request as InitBatchRequest;
const execute = EXAMPLES.executeBatch.request as InputOf<'executeBatch'>;
const batch = EXAMPLES.getBatch.response as Batch;
const [listed] = (EXAMPLES.listBatches.response as AnswerOf<'listBatches'>).items;

function changed(answer: unknown, path: string, value: unknown): unknown {
  const copy = structuredClone(answer) as Record<string, unknown>;
  const steps = path.split('.');
  let inner: Record<string, unknown> = copy;
  for (const step of steps.slice(0, -1)) inner = inner[step] as Record<string, unknown>;
  inner[steps.at(-1) as string] = value;
  return copy;
}

const two = EXAMPLES.burnBatch.request as BurnRequest[];
const twoDone = EXAMPLES.burnBatch.response as BurnBatchResult;
type Act = (service: Service) => Promise<unknown>;
const acts = {
  burn: (service) => service.burn(burn, call),
  burnBatch: (service) => service.burnBatch(two, call),
  init: (service) => service.initBatch(init, call),
  execute: (service) => service.executeBatch(execute, call),
  get: (service) => service.getBatch({ batchId: batch.id }, call),
  current: (service) => service.currentBatch(call),
  list: (service) => service.listBatches({ limit: 1, status: 'FINALIZED' }, call),
  history: (service) => service.history({ limit: 1, action: 'BURN' }, call),
  pipelines: (service) => service.batchPipelines({ batchId: batch.id, limit: 1 }, call),
  approval: (service) => service.issueApproval({ batchId: batch.id }, call),
  cancel: (service) => service.cancelBatch({ batchId: batch.id }, call),
} as const satisfies Record<string, Act>;
const good: Record<keyof typeof acts, unknown> = {
  burn: burned,
  burnBatch: twoDone,
  init: EXAMPLES.initBatch.response,
  execute: EXAMPLES.executeBatch.response,
  get: batch,
  current: batch,
  list: EXAMPLES.listBatches.response,
  history: { items: (EXAMPLES.history.response as AnswerOf<'history'>).items.slice(1), nextCursor: null },
  pipelines: EXAMPLES.batchPipelines.response,
  approval: EXAMPLES.issueApproval.response,
  cancel: {
    ...{ ownerVoteNeeded: false },
    batch: { ...batch, status: 'FAILED', dateCancelled: '2026-01-31T12:00:00.000Z' },
  },
};
const LISTS: readonly (keyof typeof acts)[] = ['list', 'history', 'pipelines'];
const READS: ReadonlySet<keyof typeof acts> = new Set(['get', 'current', ...LISTS]);

const OTHER_ID = '00000000-0000-4000-8000-000000000000';

const NOT_SENT = /result of type "OTHER" for an element that was not sent|no result for/;
const counts = (total: number, totalSuccessful: number, totalFailed: number) => ({
  ...{ total, totalSuccessful, totalFailed, successfulExecutions: [] },
});

/** Operation, path in its answer, new value, and the expected message. */
const CONTRADICTIONS: readonly (readonly [keyof typeof acts, string, unknown, RegExp])[] = [
  ['burn', 'result', 'FAILURE', /result is "FAILURE", not "SUCCESS"/],
  ['burn', 'result', '', /result is ""/],
  ['burn', 'result', 'success', /result is "success"/],
  ['burn', 'txHash', '', /txHash is "", which is not a transaction signature/],
  ['burn', 'txHash', TX.slice(0, -2), /not a transaction signature/],
  ['burn', 'txHash', `${TX.slice(0, -1)}0`, /not a transaction signature/],
  ['burn', 'txHash', '1'.repeat(100_000), /not a transaction signature/],
  ['burn', 'txHash', base58Encode(new Uint8Array(32)), /not a transaction signature/],
  ['burn', 'type', 'WATCH_AD', /type is "WATCH_AD", not "PRODUCT_BUY"/],
  ['burnBatch', 'success', [], /1 results for 2 elements/],
  ['burnBatch', 'errors', [], /1 results for 2 elements/],
  ['burnBatch', 'success', [burned, burned], /3 results for 2 elements/],
  ['burnBatch', 'success.0.result', 'FAILURE', /success\[0\]\.result is "FAILURE"/],
  ['burnBatch', 'success.0.txHash', 'x', /success\[0\]\.txHash is "x"/],
  ['burnBatch', 'success.0.type', 'OTHER', NOT_SENT],
  ['burnBatch', 'errors.0.proofType', 'OTHER', NOT_SENT],
  ['init', 'batch.pipelines', [], /the number of its pipelines is 0, but 1 were sent/],
  ['init', 'batch.pipelines.0.type', 'WATCH_AD', /batch\.pipelines\[0\]\.type is "WATCH_AD"/],
  ['init', 'batch.pipelines.0.payload', '{"orderId":"B-1"}', /payload differs from the one that was sent/],
  ['init', 'batch.pipelines.0.actions.0.amount', 11, /actions differ from those that were sent/],
  ['init', 'batch.pipelines.0.actions.1.toAddress', batch.vaultAddress, /actions differ from those/],
  ['init', 'batch.pipelines.0.actions', [], /actions differ from those/],
  ['init', 'batch.initResult.total', 3, /initResult\.total 3, .*do not add up/],
  ['init', 'batch.initResult.successfulExecutions', [], /it lists 0 transactions/],
  ['execute', 'batchId', OTHER_ID, /batchId is 00000000-/],
  ['execute', 'result.totalFailed', 1, /total 1, totalSuccessful 1, totalFailed 1: they do not add up/],
  ['execute', 'result', counts(0, 1, -1), /is negative/],
  ['execute', 'result.successfulExecutions.0.txHashes', [TX, TX], /names the transaction .* twice/],
  ['execute', 'result.successfulExecutions.0.txHashes.0', 'x', /a transaction is "x", which is not a trans/],
  ['get', 'id', OTHER_ID, /id is 00000000-/],
  ['get', 'initResult.totalSuccessful', 1, /initResult.*do not add up/],
  ['current', 'initResult.totalFailed', -1, /initResult.*negative/],
  ['current', 'executeResult', counts(2, 1, 0), /executeResult/],
  ['history', 'items.0.action', 'AIRDROP', /items\[0\] was not requested/],
  ['history', 'items.0.txHash', 'x', /items\[0\]\.txHash is "x"/],
  ['list', 'items', [listed, listed], /it has 2 items, but at most 1 were requested/],
  ['list', 'items.0.status', 'EXECUTED', /items\[0\] was not requested/],
  ['list', 'items.0.initResult.total', 9, /initResult.*do not add up/],
  ['pipelines', 'items.0.txHash', 'x', /items\[0\]\.txHash is "x", which is not a transaction signature/],
  ['approval', 'batch.id', OTHER_ID, /batch\.id is 00000000-/],
  ['cancel', 'batch.id', OTHER_ID, /batch\.id is 00000000-/],
  ['cancel', 'batch.dateCancelled', undefined, /the batch is not cancelled/],
  ['cancel', 'batch', undefined, /ownerVoteNeeded is false, and there is no batch/],
  ['cancel', 'ownerVoteNeeded', true, /ownerVoteNeeded is true, and there is no cancelTx/],
];

describe('an answer that contradicts the request', () => {
  it.each(CONTRADICTIONS)('is not believed: %s with another %s', async (name, path, value, message) => {
    const { stub, service } = await clientTo(
      json(200, changed(good[name], path, value), { 'x-request-id': 'r-1' }),
    );
    const error = await failureOf(acts[name](service));
    const reads = READS.has(name);
    expect([error.code, error.exitCode]).toEqual(
      reads ? ['ERR_RESPONSE_INVALID', 1] : ['ERR_OUTCOME_UNKNOWN', 7],
    );
    expect(error.message).toMatch(message);
    expect(error.message).toContain('The answer contradicts the request: ');
    expect(error.message.length).toBeLessThan(600);
    expect(error.options).toMatchObject({ status: 200, requestId: 'r-1' });
    if (!reads) expect(error.options.cause).toMatchObject({ code: 'ERR_RESPONSE_INVALID' });
    // A service that contradicts the request might act twice.
    expect(stub.requests).toHaveLength(1);
  });

  it.each(LISTS)('is a list without the id of the request: %s', async (name) => {
    const { service } = await clientTo(json(200, good[name], { 'x-request-id': 'of-a-proxy' }));
    const error = await failureOf(acts[name](service));
    expect(error.message).toContain("it does not have this request's x-request-id");
    const others = (Object.keys(acts) as (keyof typeof acts)[]).filter((one) => !LISTS.includes(one));
    for (const other of others) await acts[other]((await clientTo(json(200, good[other]))).service);
  });

  it.each(Object.keys(acts) as (keyof typeof acts)[])('is not one that fits: %s', async (name) => {
    const { service, warnings } = await clientTo(echoing(good[name]));
    await acts[name](service);
    expect(warnings.length).toBeLessThanOrEqual(1);
  });

  it('is not one that writes an id or a payload in another way, or ends FAILED', async () => {
    const { service } = await clientTo(json(200, changed(batch, 'id', batch.id.toUpperCase())));
    await service.getBatch({ batchId: batch.id }, call);
    const reordered = changed(
      good.init,
      'batch.pipelines.0.payload',
      '{ "total": 49.90, "orderId": "A-1001" }',
    );
    await (await clientTo(json(200, reordered))).service.initBatch(init, call);
    const half = {
      total: 3,
      totalSuccessful: 1,
      totalFailed: 2,
      successfulExecutions: [{ bundleId: 'x', txHashes: [TX] }],
      failedTxMsg: 'no funds',
    };
    const { service: third } = await clientTo(json(200, changed(good.execute, 'result', half)));
    expect((await third.executeBatch(execute, call)).value.result).toEqual(half);
  });
});

describe('the request id', () => {
  const answering =
    (ids: (sent: string) => readonly string[]): StubAnswer =>
    (request, response) => {
      response.setHeader('x-request-id', ids(String(request.headers['x-request-id'])));
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(burned));
    };

  it.each([
    ['none', () => []],
    ['one of the service', () => ['of-theirs']],
    ['that of the request', (sent: string) => [sent]],
    ['that of the request before one of a proxy', (sent: string) => [sent, 'of-a-proxy']],
    ['that of the request behind one of a proxy', (sent: string) => ['of-a-proxy', sent]],
  ])('of an answer may be %s', async (_what, ids) => {
    const { service } = await clientTo(answering(ids));
    expect((await service.burn(burn, call)).value.result).toBe('SUCCESS');
  });

  it.each([
    ['alone', () => ['flywheel-of-another']],
    ['before that of the request', (sent: string) => ['flywheel-of-another', sent]],
    ['behind one of a proxy', () => ['of-a-proxy', 'flywheel-of-another']],
  ])('of another request (%s) says that the answer is not to this one', async (_where, ids) => {
    const { service, stub } = await clientTo(answering(ids));
    expect((await failureOf(service.burn(burn, call))).exitCode).toBe(7);
    expect(stub.requests).toHaveLength(1);
  });
});

/** Answers with the request id, as a service of this contract does. */
const echoing =
  (value: unknown): StubAnswer =>
  (request, response, count) =>
    json(200, value, { 'x-request-id': String(request.headers['x-request-id']) })(request, response, count);

describe('the hash of a proof', () => {
  it('is compared where nothing else says which request an answer is to', async () => {
    const request = [unsorted, { ...unsorted, proof: { other: 1 } }];
    const success = [
      { ...burned, hash: sha256('else') },
      { ...burned, txHash: base58Encode(new Uint8Array(64).fill(7)) },
    ];
    for (const headers of [{}, { 'x-request-id': 'of-theirs' }]) {
      const { service } = await clientTo(json(200, { ...burned, hash: sha256('else') }, headers));
      expect((await failureOf(service.burn(unsorted, call))).exitCode).toBe(7);
      const batches = await clientTo(json(200, { success, errors: [] }, headers));
      expect((await failureOf(batches.service.burnBatch(request, call))).exitCode).toBe(7);
    }
  });

  const unsorted: BurnRequest = { ...burn, proof: { z: 1, a: { d: [1, 2], c: 'é' } } };

  it('may be that of the canonical text or of the text that was sent', async () => {
    for (const hash of [proofHash(unsorted.proof), sha256(JSON.stringify(unsorted.proof))]) {
      const { service, warnings } = await clientTo(json(200, { ...burned, hash }));
      expect((await service.burn(unsorted, call)).value.hash).toBe(hash);
      expect(warnings).toEqual([]);
    }
  });

  it('is warned of once when it is another, and the burn is still a burn', async () => {
    const { service, warnings } = await clientTo(echoing({ ...burned, hash: sha256('else') }));
    for (let times = 0; times < 3; times += 1) await service.burn(unsorted, call);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('hashes proofs differently');
  });

  it('is compared for pipelines too', async () => {
    const payload = '{"z":1,"a":2}';
    const request = { pipelines: [{ ...init.pipelines[0], payload }] } as InitBatchRequest;
    for (const [hash, count] of [
      [sha256(payload), 0],
      [proofHash({ a: 2, z: 1 }), 0],
      ['', 1],
    ] as const) {
      const answer = changed(
        changed(good.init, 'batch.pipelines.0.payload', payload),
        'batch.pipelines.0.proofHash',
        hash,
      );
      const { service, warnings } = await clientTo(json(200, answer));
      await service.initBatch(request, call);
      expect(warnings).toHaveLength(count);
    }
  });
});

describe('null for what is not there', () => {
  it('is taken for an absent field', async () => {
    const unset = { ...batch, initResult: null, executeResult: null };
    const { value } = await (await clientTo(json(200, unset))).service.getBatch({ batchId: batch.id }, call);
    for (const name of ['initResult', 'executeResult']) expect(value).not.toHaveProperty(name);
    const { result } = good.execute as { result: object };
    const none = { failedTxMsg: null, failedOnTransactionIndex: null, failedStartTransactionIndex: null };
    for (const [name, answer] of [
      ['execute', changed(good.execute, 'result', { ...result, ...none })],
      ['init', changed(good.init, 'batch.initResult.failedTxMsg', null)],
    ] as const) {
      const { service } = await clientTo(json(200, answer));
      expect(await acts[name](service)).toMatchObject({ value: good[name] });
    }
  });

  it('is none for a field that must be there', async () => {
    const { service } = await clientTo(json(200, { ...batch, status: null }));
    const error = await failureOf(service.currentBatch(call));
    expect([error.code, error.exitCode]).toEqual(['ERR_RESPONSE_INVALID', 1]);
    expect(error.message).toContain('status');
  });

  it('stays what it is inside of a proof', async () => {
    const nulls: BurnRequest = { ...burn, type: 'UNKNOWN', proof: { a: null, b: [null] } };
    const answer = {
      success: [],
      errors: [{ message: 'no', type: 'ERR_INVALID_PROOF', proof: nulls.proof, proofType: 'UNKNOWN' }],
    };
    const { service } = await clientTo(json(200, answer));
    expect((await service.burnBatch([nulls], call)).value.errors[0]?.proof).toEqual(nulls.proof);
  });

  it('may be the message of an error', async () => {
    const { service } = await clientTo(json(400, { error: 'ERR_INVALID_PROOF', message: null }));
    expect(await failureOf(service.burn(burn, call))).toMatchObject({
      code: 'ERR_INVALID_PROOF',
      exitCode: 5,
    });
  });
});

describe('a refusal by the service', () => {
  it('stays 2 where nothing was sent', async () => {
    const { stub, service } = await clientTo(json(200, null));
    expect(await failureOf(service.burn(burn, { ...call, idempotencyKey: 'é' }))).toMatchObject({
      code: 'ERR_INVALID_REQUEST',
      exitCode: 2,
    });
    expect(stub.requests).toEqual([]);
  });

  it('is none when it redirects to where the result is', async () => {
    const { service } = await clientTo(
      (_request, response) => void response.writeHead(303, { location: '/done' }).end(),
    );
    expect(await failureOf(service.burn(burn, call))).toMatchObject({
      code: 'ERR_OUTCOME_UNKNOWN',
      exitCode: 7,
    });
  });
});

describe('a key that comes back', () => {
  const shown = ({ message, hint, wireCode, stack, options }: FlywheelError): string => {
    const causes: string[] = [];
    for (let at = options.cause; at instanceof Error; at = at.cause) causes.push(at.message, at.stack ?? '');
    return [message, hint, wireCode, stack, options.requestId, ...causes].join('\n');
  };
  const split = `${KEY.slice(0, 8)}\u200b\u0000${KEY.slice(8)}`;
  /** A part of the key that is long enough to be useful. */
  const PART = KEY.slice(0, 12);
  const visible = (text: string): string => text.replaceAll('\u0000', '').replaceAll('\u200b', '');

  const refusal = (message: string) => ({ error: 'ERR_INVALID_PROOF', message });
  it.each([
    ['the message', refusal(`key ${KEY} is bad`), {}],
    ['a message that hides it', refusal(`key ${split} is bad`), {}],
    ['a long message', refusal(`${'x'.repeat(19_985)}${KEY}`), {}],
    ['the code', { error: KEY, message: 'no' }, {}],
    ['a long code', { error: `${'E'.repeat(185)}${KEY}`, message: 'no' }, {}],
    ['the request id', refusal('no'), { 'x-request-id': `${'r'.repeat(185)}${KEY}` }],
    ['the content type', '<html>', { 'content-type': `text/${KEY}` }],
    ['a long content type', '<html>', { 'content-type': `text/${'x'.repeat(45)}${KEY}` }],
    ['a header of the log', refusal('no'), { 'retry-after': `${'9'.repeat(185)}${KEY}` }],
    ['the encoding', {}, { 'content-encoding': `${'x'.repeat(50)}${KEY}` }],
    ['the name of a field', changed(good.current, KEY, 1), {}],
    ['a URL', refusal(encodeURIComponent(KEY)), { location: `/?key=${KEY}` }],
  ] as [string, unknown, Record<string, string>][])('in %s is never shown', async (_name, body, headers) => {
    for (const status of [400, 200, 502]) {
      const { service, lines } = await clientTo((_request, response) => {
        const text = typeof body === 'string' ? body : JSON.stringify(body);
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
      });
      for (const act of [acts.burn, acts.current]) {
        const outcome = await act(service).then(JSON.stringify, shown);
        expect(visible(`${outcome}\n${lines.join('\n')}`)).not.toContain(PART);
      }
    }
  });

  it('in a value or beside it is never shown', async () => {
    const value = changed(changed(batch, 'tokenId', `t ${KEY} t`), 'initResult.failedTxMsg', KEY);
    const { service, lines } = await clientTo(
      json(200, value, { 'x-request-id': KEY, ratelimit: `"${KEY}";r=9;t=1` }),
    );
    const reply = await service.getBatch({ batchId: batch.id }, call);
    expect(reply.value.tokenId).toBe('t *** t');
    expect(reply.value.initResult?.failedTxMsg).toBe('***');
    expect(JSON.stringify([reply, lines])).not.toContain(PART);
  });

  it('in what contradicts the request, or is warned of, is never shown', async () => {
    const cut = `${'x'.repeat(88)}${KEY}`;
    for (const [path, value] of [
      ['type', 'k'.repeat(40) + KEY],
      ['result', cut],
      ['txHash', cut],
      ['hash', cut],
    ] as const) {
      const { service, warnings } = await clientTo(json(200, changed(burned, path, value)));
      const outcome = await service.burn(burn, call).then(JSON.stringify, shown);
      expect(`${outcome}${warnings.join('')}`).not.toContain(PART.slice(0, 8));
    }
  });

  it('in the outcome of an element is never shown', async () => {
    const seen: unknown[] = [];
    const answer = changed(twoDone, 'errors.0.message', `no ${KEY}`);
    const { service } = await clientTo(json(200, answer));
    const { value } = await service.burnBatch(two, { ...call, onElement: (element) => seen.push(element) });
    expect(JSON.stringify([value, seen])).not.toContain(PART);
    expect(seen).toHaveLength(2);
  });

  it('does not spoil what a short key happens to be part of', async () => {
    const { service } = await clientTo(json(200, burned));
    expect((await service.burn(burn, { ...call, credential: new Secret('CES') })).value).toEqual(burned);
  });
});
