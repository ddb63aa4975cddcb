import { describe, expect, it } from 'vitest';
import type { Call } from '../../../src/contract/call.js';
import type { InitBatchRequest } from '../../../src/contract/schemas/batch.js';
import type { BurnRequest, BurnResult } from '../../../src/contract/schemas/burn.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { proofHash } from '../../../src/values/digest.js';
import { Secret } from '../../../src/values/secret.js';
import { clientTo } from '../../support/http.js';
import { inTurn, json, type StubAnswer } from '../../support/http-stub.js';
import { failureOf } from '../../support/service.js';
import { EXAMPLES } from '../../support/wire-examples.js';

const KEY = 'secret-api-key-1234567890';
const call: Call = { credential: new Secret(KEY), idempotencyKey: '6f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f12' };
const burn = EXAMPLES.burn.request as BurnRequest;
const burned = EXAMPLES.burn.response;

const html: StubAnswer = (_request, response) =>
  void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>hello</html>');
const cutOff: StubAnswer = (_request, response) => void response.socket?.destroy();
const half: StubAnswer = (_request, response) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end('{"result":"SUC');
const nothing: StubAnswer = (_request, response) => void response.writeHead(200).end();
const text =
  (type: string): StubAnswer =>
  (_request, response) =>
    void response.writeHead(200, type === '' ? {} : { 'content-type': type }).end('hello');

describe('createRemoteService', () => {
  it('makes a key for a POST that comes without one', async () => {
    const { stub, service } = await clientTo(json(200, burned));
    await service.burn(burn, { credential: new Secret(KEY) });
    expect(stub.requests[0]?.headers['x-idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('sends the same key and body with every try', async () => {
    const { stub, service } = await clientTo(inTurn(cutOff, json(503, {}), json(200, burned)));
    expect((await service.burn(burn, call)).value).toEqual(burned);
    expect(stub.requests).toHaveLength(3);
    expect(new Set(stub.requests.map(({ headers }) => headers['x-idempotency-key']))).toEqual(
      new Set([call.idempotencyKey]),
    );
    expect(new Set(stub.requests.map(({ body }) => body)).size).toBe(1);
  });

  it.each([
    ['half a JSON', half, 1, /incomplete or broken JSON/],
    ['nothing', nothing, 1, /with nothing/],
    ['an HTML page', html, 1, /an HTML page/],
    ['502 from a gateway', json(502, 'bad gateway'), 6, /502/],
    ['504 from a gateway', (_q, response) => void response.writeHead(504).end('<html>'), 6, /504/],
    ['plain text', text('text/plain;a=b'), 1, / 200 with text\/plain, not JSON/],
    ['text of no type', text(''), 1, / 200 with something that is not JSON/],
    ['a type without end', text('t'.repeat(300)), 1, / with t{200}, not JSON/],
    ['JSON of another shape', json(200, { id: 7 }), 1, /id: |result: /],
  ] as [string, StubAnswer, number, RegExp][])(
    'names what a GET got, and tells of an unknown outcome when a POST only gets: %s',
    async (_name, answer, exit, message) => {
      const { stub, service } = await clientTo(answer);
      const read = await failureOf(service.currentBatch(call));
      expect([read.code, read.exitCode, read.message]).toEqual([
        ...['ERR_RESPONSE_INVALID', exit, expect.stringMatching(message)],
      ]);
      stub.requests.length = 0;
      const acted = await failureOf(service.burn(burn, call));
      expect([acted.code, acted.exitCode, acted.options.idempotencyKey]).toEqual([
        ...['ERR_OUTCOME_UNKNOWN', 7, call.idempotencyKey],
      ]);
      expect(stub.requests).toHaveLength(3);
    },
  );

  it('believes that a burn failed, but not of an earlier try without answer, which may burn yet', async () => {
    const failed = json(
      400,
      { error: 'ERR_BURN_TOKENOMICS_FAILED', message: 'No.' },
      { 'x-request-id': 'r-7' },
    );
    const alone = await clientTo(failed);
    expect(await failureOf(alone.service.burn(burn, call))).toMatchObject({
      code: 'ERR_BURN_TOKENOMICS_FAILED',
      message: 'No.',
      options: { status: 400, requestId: 'r-7', idempotencyKey: call.idempotencyKey },
    });
    const { stub, service } = await clientTo(inTurn(cutOff, failed));
    expect(await failureOf(service.burn(burn, call))).toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN' });
    expect(stub.requests).toHaveLength(2);
  });

  it.each([
    [400, 'ERR_INVALID_REQUEST'],
    [400, 'ERR_INVALID_PROOF'],
    [400, 'ERR_BURN_TOKENOMICS_FAILED'],
    [400, 'Bad Request'],
    [401, 'ERR_UNAUTHORIZED'],
    [404, 'ERR_NOT_FOUND'],
    [404, 404],
    [413, 'ERR_PAYLOAD_TOO_LARGE'],
    [429, 'ERR_RATE_LIMIT_EXCEEDED'],
  ] as const)(
    'takes %i %s of a later try for no outcome of an earlier one that has no answer or was under way',
    async (status, error) => {
      const said = (code: number, what: string | number) => json(code, { error: what, message: 'no' });
      for (const first of [
        ...[cutOff, said(503, 'ERR_UNAVAILABLE'), said(500, 'ERR_INTERNAL')],
        said(409, 'ERR_DUPLICATE_IDEMPOTENCY_KEY'),
      ]) {
        const { service } = await clientTo(inTurn(first, said(status, error)));
        expect(await failureOf(service.burn(burn, call))).toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN' });
      }
    },
  );

  it('tries again only what the contract says may be', async () => {
    for (const [status, code, tries] of [
      [400, 'ERR_INVALID_REQUEST', 1],
      [401, 'ERR_UNAUTHORIZED', 1],
      [403, 'ERR_KEY_SCOPES_UNAUTHORIZED', 1],
      [409, 'ERR_DUPLICATE_IDEMPOTENCY_KEY', 3],
      [422, 'ERR_IDEMPOTENCY_KEY_REUSED', 1],
      [429, 'ERR_RATE_LIMIT_EXCEEDED', 3],
      [500, 'ERR_INTERNAL', 3],
      [503, 'ERR_UNAVAILABLE', 3],
      [400, 17, 1],
      [503, 17, 3],
    ] as const) {
      const { stub, service } = await clientTo(json(status, { error: code, message: 'no' }));
      await failureOf(service.burn(burn, call));
      expect([code, stub.requests.length]).toEqual([code, tries]);
    }
  });

  it('asks before each further try whether it may still be sent', async () => {
    const { stub, service } = await clientTo(json(503, { error: 'ERR_UNAVAILABLE', message: 'no' }));
    const dropped = new FlywheelError('ERR_OUTCOME_UNKNOWN', 'Another process dropped it.');
    const beforeRetry = async () => dropped;
    expect((await failureOf(service.burn(burn, { ...call, beforeRetry }))).message).toBe(dropped.message);
    expect(stub.requests).toHaveLength(1);
  });

  it('a look-up between two tries that could not be sent says nothing of the first try', async () => {
    const limited = { error: 'ERR_RATE_LIMIT_EXCEEDED', message: 'no' };
    const refused = new FlywheelError('ERR_UNAVAILABLE', 'Refused. Nothing was sent.', { unsent: true });
    const beforeRetry = async () => refused;
    const { stub, service } = await clientTo(json(429, limited));
    const error = await failureOf(service.burn(burn, { ...call, beforeRetry }));
    expect(error).toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN', options: { cause: refused } });
    expect([error.options.unsent, error.message.includes('Nothing')]).toEqual([undefined, false]);
    expect(stub.requests).toHaveLength(1);
  });

  it('waits as long as the service says, else at random and longer each time', async () => {
    const limited = (headers: Record<string, string>) =>
      json(429, { error: 'ERR_RATE_LIMIT_EXCEEDED', message: 'no' }, headers);
    const { service, waits } = await clientTo(
      inTurn(limited({ 'retry-after': '7' }), limited({}), json(200, burned)),
    );
    await service.burn(burn, call);
    expect(waits).toEqual([7_000, 500]);
    const dated = await clientTo(
      inTurn(limited({ 'retry-after': new Date(90_000).toUTCString() }), json(200, burned)),
      {
        clock: { nowMs: () => 60_000 },
      },
    );
    await dated.service.burn(burn, call);
    expect(dated.waits).toEqual([30_000]);
  });

  it('gives up at once when the service asks for more time than there is', async () => {
    const { stub, service, waits } = await clientTo(
      json(503, { error: 'ERR_UNAVAILABLE', message: 'no' }, { 'retry-after': '61' }),
    );
    expect(await failureOf(service.burn(burn, call))).toMatchObject({
      code: 'ERR_UNAVAILABLE',
      exitCode: 6,
      options: { retryAfterSeconds: 61 },
    });
    expect([stub.requests.length, waits]).toEqual([1, []]);
  });

  it('counts all waits of a call against the longest wait', async () => {
    const { stub, service, waits } = await clientTo(
      json(503, { error: 'ERR_UNAVAILABLE', message: 'no' }, { 'retry-after': '40' }),
    );
    await failureOf(service.burn(burn, call));
    expect([stub.requests.length, waits]).toEqual([2, [40_000]]);
  });

  it('waits to the end of the longest wait before it gives up', async () => {
    const { stub, service, waits } = await clientTo(json(503, { error: 'ERR_UNAVAILABLE', message: 'no' }), {
      maxWaitMs: 200,
    });
    await failureOf(service.burn(burn, call));
    expect([stub.requests.length, waits]).toEqual([2, [200]]);
  });

  it('neither sends nor waits any more when it is closed between two tries', async () => {
    const waits: number[] = [];
    const closing = await clientTo(json(503, { error: 'ERR_UNAVAILABLE', message: 'no' }), {
      sleep: async (ms) => {
        waits.push(ms);
        await closing.service.close();
      },
    });
    expect((await failureOf(closing.service.burn(burn, call))).message).toContain('client is closed');
    expect([closing.stub.requests.length, waits]).toEqual([1, [250]]);
  });

  it('passes on the time of the service, if it tells it', async () => {
    const date = 'Sat, 31 Jan 2026 12:00:00 GMT';
    const told = await clientTo(json(200, null, { date }));
    expect((await told.service.currentBatch(call)).meta.serverTimeMs).toBe(Date.parse(date));
    const untold = await clientTo((request, response, count) => {
      response.sendDate = false;
      json(200, null)(request, response, count);
    });
    expect((await untold.service.currentBatch(call)).meta).not.toHaveProperty('serverTimeMs');
  });

  it('understands errors with a number, an unknown code, or without a message', async () => {
    const cases = [
      [400, { error: 400, message: 'Bad.' }, '400', 5],
      [401, { error: 17, message: 'Who?' }, '17', 4],
      [403, { error: 'ERR_BRAND_NEW', message: 'x' }, 'ERR_BRAND_NEW', 4],
      [404, { error: 'ERR_BATCH_NOT_FOUND', message: 'x', more: 1 }, 'ERR_BATCH_NOT_FOUND', 5],
      [404, { error: 'ERR_BRAND_NEW' }, 'ERR_BRAND_NEW', 5],
      [429, { error: 1, message: 'x' }, '1', 6],
      [500, { error: 500, message: 'x' }, '500', 1],
      [400, { error: 'ERR_PARTIAL', message: 'x' }, 'ERR_PARTIAL', 5],
      // Never 2, which says that nothing was sent.
      [400, { error: 'ERR_INVALID_REQUEST', message: 'x' }, 'ERR_INVALID_REQUEST', 5],
      [422, { error: 'ERR_INVALID_REQUEST', message: 'x' }, 'ERR_INVALID_REQUEST', 5],
      [413, { error: 'ERR_PAYLOAD_TOO_LARGE', message: 'x' }, 'ERR_PAYLOAD_TOO_LARGE', 5],
    ] as const;
    for (const [status, body, code, exit] of cases) {
      const { service } = await clientTo(json(status, body));
      const error = await failureOf(service.currentBatch(call));
      expect([error.wireCode, error.exitCode, error.status]).toEqual([code, exit, status]);
    }
    for (const [status, code, exit] of [
      [401, 'ERR_RESPONSE_INVALID', 4],
      [404, 'ERR_RESPONSE_INVALID', 5],
      [429, 'ERR_RESPONSE_INVALID', 6],
    ] as const) {
      const { service } = await clientTo((_q, response) => void response.writeHead(status).end('<html>'));
      expect(await failureOf(service.currentBatch(call))).toMatchObject({ code, exitCode: exit });
    }
  });

  it.each([
    [404, 'Not Found'],
    [405, 'Method Not Allowed'],
    [404, 404],
    [404, 'ERR_NOT_FOUND'],
  ])('takes %i %s for an operation that the service does not offer', async (status, error) => {
    const { service } = await clientTo(json(status, { error, message: 'Cannot GET /v1/tokenomics/history' }));
    const { code, exitCode, message } = await failureOf(service.history({}, call));
    expect([code, exitCode]).toEqual(['ERR_NOT_FOUND', 5]);
    expect(message).toBe(`This service does not offer GET /v1/tokenomics/history (${status}).`);
  });

  it('ignores unknown fields wherever they are', async () => {
    const batch = EXAMPLES.initBatch.response as { batch: { pipelines: { actions: object[] }[] } };
    const answer = structuredClone(batch);
    Object.assign(answer, { extra: 1 });
    Object.assign(answer.batch, { extra: { deep: true } });
    Object.assign(answer.batch.pipelines[0]?.actions[0] ?? {}, { extra: 'x', toAddress: 1 });
    const { service } = await clientTo(json(200, answer));
    const request = EXAMPLES.initBatch.request as InitBatchRequest;
    expect((await service.initBatch(request, call)).value).toEqual(batch);
  });

  it('tells of each element of a burn-batch, in the order sent', async () => {
    const second = { ...burn, proof: { n: 2 } };
    const third = { ...burn, proof: { n: 3 } };
    const answer = {
      success: [{ ...(burned as BurnResult), hash: proofHash(third.proof) }],
      errors: [{ message: 'no', type: 'ERR_INVALID_PROOF', proof: second.proof, proofType: burn.type }],
    };
    const { service } = await clientTo(json(200, answer));
    const seen: unknown[] = [];
    await service.burnBatch([second, third], { ...call, onElement: (element) => seen.push(element) });
    expect(seen).toMatchObject([
      { index: 0, status: 'error', type: 'ERR_INVALID_PROOF' },
      { index: 1, status: 'success', hash: proofHash(third.proof) },
    ]);
  });

  it('shows what it does without key, body or proof', async () => {
    const { service, lines } = await clientTo(inTurn(json(503, {}), json(200, burned)));
    await service.burn(burn, call);
    const log = lines.join('\n');
    expect(log).toContain('x-service-api-key: ***');
    expect(log).toContain(`x-idempotency-key: ${call.idempotencyKey}`);
    expect(log).toMatch(/waiting 0\.3 s/);
    expect(log).not.toContain(KEY);
    expect(log).not.toContain('A-1001');
  });

  it('shows a try without an answer, too', async () => {
    const { service, lines } = await clientTo(inTurn(cutOff, json(200, burned)));
    await service.burn(burn, call);
    expect(lines.filter((line) => /^< \S/.test(line))).toEqual([
      expect.stringMatching(/^< the connection to 127\.0\.0\.1:\d+ broke \(\w+\) \(\d+ ms\)$/),
      expect.stringMatching(/^< 200 /),
    ]);
  });
});
