/** Requests put together by hand: sent by the rules of all others, answered as they come. */
import { describe, expect, it } from 'vitest';
import type { HttpAnswer, HttpFailure } from '../../../src/client/exchange.js';
import { createRawApi } from '../../../src/client/raw-api.js';
import type { HttpRequest } from '../../../src/client/transport.js';
import { EXAMPLES } from '../../../src/contract/examples.js';
import type { RawAnswer, RawCall, RawRequest } from '../../../src/contract/raw-api.js';
import type { BurnResult } from '../../../src/contract/schemas/burn.js';
import { randomIds } from '../../../src/values/ids.js';
import { Secret } from '../../../src/values/secret.js';
import { systemClock } from '../../../src/values/time.js';

const KEY = 'fk_secret';
const BURN = JSON.stringify(EXAMPLES.burn.request);
const burned = EXAMPLES.burn.response as BurnResult;
const answer = (status: number, text: string, headers: Record<string, string> = {}): HttpAnswer => ({
  kind: 'answer',
  status,
  headers,
  text,
});
const LOST: HttpFailure = {
  ...{ kind: 'failure', maybeSent: true, retryable: true, reason: 'lost', cause: undefined, wordless: false },
};

/** An API whose exchanges come out so, one after the other, the last again and again. */
function api(...outcomes: readonly (HttpAnswer | HttpFailure)[]) {
  const sent: HttpRequest[] = [];
  const seen: RawAnswer[] = [];
  const raw = createRawApi({
    baseUrl: 'https://api.example.com/base',
    clock: systemClock,
    random: () => 0,
    ids: randomIds,
    sleep: async () => undefined,
    transport: {
      era: 0,
      hidesTls: async () => false,
      close: async () => undefined,
      exchange: async (request) => {
        sent.push(request);
        return outcomes[Math.min(sent.length, outcomes.length) - 1] ?? LOST;
      },
    },
  });
  const send = (request: Partial<RawRequest>, call: Partial<RawCall> = {}): Promise<RawAnswer> =>
    raw.send(
      { method: 'GET', path: '/', headers: {}, ...request },
      {
        credential: new Secret(KEY),
        signal: new AbortController().signal,
        onAnswer: (each) => seen.push(each),
        ...call,
      },
    );
  return { sent, seen, send };
}

const post = (path: string, body?: string): Partial<RawRequest> => ({
  ...{ method: 'POST', path },
  ...(body === undefined ? {} : { body }),
});

describe('what is sent', () => {
  it('has address, query, key and headers', async () => {
    const { sent, send } = api(answer(200, '<p>'));
    await send({ path: '/docs?a=b%20c', headers: { 'X-Mine': 'yes' } });
    expect(sent[0]).toMatchObject({
      method: 'GET',
      headers: { 'x-mine': 'yes', 'x-service-api-key': KEY },
    });
    expect(String(sent[0]?.url)).toBe('https://api.example.com/base/docs?a=b+c');
    expect(sent[0]?.headers).not.toHaveProperty('x-idempotency-key');
  });

  it('is the body as it was given, under its key', async () => {
    const { sent, send } = api(answer(200, JSON.stringify(burned)));
    const text = `${BURN.slice(0, -1)}, "burnAmount": 12.50}`;
    await send(post('/v1/tokenomics/burn', text), { idempotencyKey: 'mine' });
    expect(sent[0]).toMatchObject({ body: text, headers: { 'x-idempotency-key': 'mine' } });
  });

  it.each([
    ['a header of the client', { headers: { 'X-Service-Api-Key': 'x' } }, 'is set by the client itself'],
    ['a header with a secret', { headers: { Authorization: 'Bearer x' } }, 'is set by the client itself'],
    ['what is no header', { headers: { 'a b': 'x' } }, 'Not a header'],
    ['another host', { path: 'https://other.example.com/' }, 'Not a path below'],
    ['another host without a scheme', { path: '//other.example.com/' }, 'Not a path below'],
    ['a way out of the base address', { path: '/../admin' }, 'Write the path as it is'],
  ])('is never %s', async (_what, request, message) => {
    const { sent, send } = api();
    await expect(send(request)).rejects.toMatchObject({
      code: 'ERR_USAGE',
      message: expect.stringContaining(message),
    });
    expect(sent).toEqual([]);
  });
});

describe('an answer', () => {
  it('is given as it came, without the key, whatever its form', async () => {
    const { send, seen } = api(answer(200, `<p>${KEY}`, { 'x-echo': KEY }));
    const expected = { status: 200, headers: { 'x-echo': '***' }, text: '<p>***' };
    expect(await send({ path: '/docs' })).toEqual(expected);
    expect(seen).toEqual([expected]);
  });

  it('that refuses is heard as it came, and thrown', async () => {
    const problem = JSON.stringify({ error: 'ERR_BATCH_NOT_FOUND', message: 'None.' });
    const { send, seen, sent } = api(answer(404, problem));
    await expect(send({ path: '/v1/x' })).rejects.toMatchObject({ code: 'ERR_BATCH_NOT_FOUND', status: 404 });
    expect([seen.map(({ text }) => text), sent.length]).toEqual([[problem], 1]);
  });

  it('that was lost is asked for under the same key, and is open when it never comes', async () => {
    const found = api(LOST, answer(200, JSON.stringify(burned)));
    expect((await found.send(post('/v1/tokenomics/burn', BURN))).text).toBe(JSON.stringify(burned));
    const keys = found.sent.map(({ headers }) => headers['x-idempotency-key']);
    expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
    const lost = api(LOST);
    await expect(lost.send(post('/v1/tokenomics/burn', BURN))).rejects.toMatchObject({
      code: 'ERR_OUTCOME_UNKNOWN',
      options: { idempotencyKey: expect.any(String) },
    });
    expect(lost.sent).toHaveLength(3);
  });

  it('of what acts has to be one of the operation, and to fit what was asked', async () => {
    for (const text of ['<p>Welcome', '{}', JSON.stringify({ ...burned, type: 'OTHER' })])
      await expect(api(answer(200, text)).send(post('/v1/tokenomics/burn', BURN))).rejects.toMatchObject({
        code: 'ERR_OUTCOME_UNKNOWN',
      });
  });

  it('to a POST that the contract does not know is asked for once', async () => {
    const { send, sent } = api(LOST);
    await expect(send(post('/v1/new', '{}'))).rejects.toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN' });
    expect(sent).toHaveLength(1);
  });
});
