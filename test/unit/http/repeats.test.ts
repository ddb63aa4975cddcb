import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../../src/contract/examples.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import {
  exampleReply,
  type FakeService,
  fakeAuthenticate,
  fakeService,
  GOOD_KEY,
} from '../../support/fake-service.js';
import { type RunningServer, startServer } from '../../support/http.js';

const hourly = (name: string) => ({ name, points: 1, windowSeconds: 3_600 });
const STORED = { ...exampleReply('burn'), meta: { replayed: true } };

describe('beyond the rate limit', () => {
  let fake: FakeService;
  let server: RunningServer;
  let stored: Set<string>;

  beforeEach(async () => {
    fake = fakeService();
    stored = new Set();
    // Does as the service promises: a fresh request is done once, a repeat is answered from what is stored.
    const burn = ({ call }: FakeService['calls'][number]) => {
      const key = call.idempotencyKey ?? '';
      if (stored.has(key)) return STORED;
      if (call.repeatOnly === true) throw new FlywheelError('ERR_RATE_LIMIT_EXCEEDED', 'Nothing is stored.');
      stored.add(key);
      return exampleReply('burn');
    };
    fake.answer('burn', burn);
    fake.answer('burnBatch', burn);
    server = await startServer(
      {
        service: fake.service,
        authenticate: async (credential) => {
          const principal = await fakeAuthenticate(credential);
          if (principal.keyId === 'key-wide')
            return { ...principal, rates: { burn: { points: 50, windowSeconds: 2 } } };
          return principal.keyId === 'key-airdrop' ? { ...principal, scopes: ['airdrop'] } : principal;
        },
      },
      {
        rateLimits: {
          burn: hourly('burn'),
          burnBatch: hourly('api-key-burn'),
          currentBatch: hourly('batch-current'),
        },
      },
    );
  });
  afterEach(async () => {
    await server.closeGracefully(1_000);
  });

  const send = (
    idempotencyKey: string | undefined,
    more: { key?: string; path?: string; body?: string; type?: string } = {},
  ) =>
    fetch(`${server.url}/v1/tokenomics/${more.path ?? 'burn'}`, {
      method: 'POST',
      body: more.body ?? JSON.stringify(EXAMPLES.burn.request),
      headers: {
        'x-service-api-key': GOOD_KEY + (more.key ?? ''),
        'content-type': more.type ?? 'application/json',
        ...(idempotencyKey === undefined ? {} : { 'x-idempotency-key': idempotencyKey }),
      },
    });
  const summary = async (response: Response) => {
    const body = (await response.json()) as { error?: string };
    return [
      response.status,
      body.error,
      response.headers.get('idempotent-replayed'),
      response.headers.get('retry-after'),
    ];
  };
  const OVER = [429, 'ERR_RATE_LIMIT_EXCEEDED', null, '3600'];

  it('a repeat gets its stored answer, and a new request is refused by the limit', async () => {
    expect(await summary(await send('a'))).toEqual([200, undefined, null, null]);
    const repeat = await send('a');
    expect(repeat.headers.get('ratelimit')).toBe('"burn";r=0;t=3600');
    expect(await summary(repeat)).toEqual([200, undefined, 'true', null]);
    expect(await summary(await send('b'))).toEqual(OVER);
    expect(fake.calls.map(({ call }) => call.repeatOnly)).toEqual([undefined, true, true]);
    expect([...stored]).toEqual(['a']);
    const text = await (await fetch(`${server.url}/metrics`)).text();
    expect(text).toContain('flywheel_http_requests_total{operation="burn",status="429"} 1');
  });

  it('holds for burn-batch too, whose key is a UUID', async () => {
    const key = randomUUID();
    const path = 'burn-batch';
    expect((await send(key, { path })).status).toBe(200);
    expect(await summary(await send(key, { path }))).toEqual([200, undefined, 'true', null]);
    expect(await summary(await send('not-a-uuid', { path }))).toEqual(OVER);
    expect(fake.calls).toHaveLength(2);
  });

  it('what cannot be a repeat is refused before its body is read', async () => {
    await send('a');
    const body = '{"broken';
    expect(await summary(await send(undefined, { body }))).toEqual(OVER);
    expect(await summary(await send('with space', { body }))).toEqual(OVER);
    const headers = { 'x-service-api-key': GOOD_KEY, 'x-idempotency-key': 'a' };
    const current = () => fetch(`${server.url}/v1/flywheel/batch/current`, { headers });
    expect((await current()).status).toBe(200);
    expect((await current()).status).toBe(429);
    expect(fake.calls.filter(({ call }) => call.repeatOnly === true)).toEqual([]);
  });

  it('what may be a repeat is judged like every request', async () => {
    await send('a');
    expect((await send('a', { body: '{"broken' })).status).toBe(400);
    expect((await send('a', { type: 'text/plain' })).status).toBe(415);
    await send('a', { key: 'airdrop' });
    expect((await send('a', { key: 'airdrop' })).status).toBe(403);
    fake.answer('burn', () =>
      Promise.reject(new FlywheelError('ERR_IDEMPOTENCY_KEY_REUSED', 'Another body.')),
    );
    expect((await send('a')).status).toBe(422);
  });

  it('repeats have a limit ten times as wide', async () => {
    await send('a');
    const statuses: number[] = [];
    for (let time = 0; time < 12; time += 1) statuses.push((await send('a')).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429, 429]);
    expect(fake.calls).toHaveLength(11);
  });

  it('a key may have rates of its own', async () => {
    const response = await send('a', { key: 'wide' });
    expect(response.headers.get('ratelimit-policy')).toBe('"burn";q=50;w=2');
    expect(response.headers.get('ratelimit')).toBe('"burn";r=49;t=1');
    expect((await send('b', { key: 'wide' })).status).toBe(200);
    expect((await send('c')).headers.get('ratelimit-policy')).toBe('"burn";q=1;w=3600');
  });
});
