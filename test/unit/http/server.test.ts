import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../../src/contract/examples.js';
import { OPERATION_LIST } from '../../../src/contract/operations.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { Secret } from '../../../src/values/secret.js';
import { type FakeService, fakeAuthenticate, fakeService, GOOD_KEY } from '../../support/fake-service.js';
import { authenticateFor, type RunningServer, startServer } from '../../support/http.js';

const BURN = JSON.stringify(EXAMPLES.burn.request);
const JSON_TYPE = { 'content-type': 'application/json' };
const KEY = { 'x-service-api-key': GOOD_KEY };

describe('createHttpServer', () => {
  let fake: FakeService;
  let server: RunningServer;

  beforeEach(async () => {
    fake = fakeService();
    server = await startServer({ service: fake.service }, { limits: { maxBodyBytes: 10_000 } });
  });
  afterEach(async () => {
    await server.closeGracefully(1_000);
  });

  const ask = async (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(server.url + path, init);
  const burn = (
    body: NonNullable<RequestInit['body']>,
    headers: Record<string, string> = {},
  ): Promise<Response> =>
    ask('/v1/tokenomics/burn', { method: 'POST', body, headers: { ...JSON_TYPE, ...KEY, ...headers } });
  const problem = async (response: Response): Promise<[number, string]> => {
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(response.headers.get('x-request-id')).toMatch(/./);
    const body = (await response.json()) as { error: string; message: string };
    expect(Object.keys(body)).toEqual(['error', 'message']);
    return [response.status, body.error];
  };

  it("passes the service's errors on, and hides what failed inside", async () => {
    const failures = [
      [new FlywheelError('ERR_INVALID_PROOF', 'No.'), 400, 'ERR_INVALID_PROOF', null],
      [
        new FlywheelError('ERR_DUPLICATE_IDEMPOTENCY_KEY', 'Running.'),
        409,
        'ERR_DUPLICATE_IDEMPOTENCY_KEY',
        '1',
      ],
      [new FlywheelError('ERR_BATCH_IN_PROGRESS', 'Running.'), 409, 'ERR_BATCH_IN_PROGRESS', null],
      [new FlywheelError('ERR_UNAVAILABLE', 'Down.', { retryAfterSeconds: 7 }), 503, 'ERR_UNAVAILABLE', '7'],
      [new FlywheelError('ERR_STORE_UNAVAILABLE', '/secret/path'), 503, 'ERR_UNAVAILABLE', '1'],
      [new FlywheelError('ERR_INTERNAL', 'secret detail'), 500, 'ERR_INTERNAL', null],
      [new FlywheelError('ERR_TIMEOUT', 'secret detail'), 500, 'ERR_INTERNAL', null],
      [new TypeError('secret detail'), 500, 'ERR_INTERNAL', null],
    ] as const;
    for (const [failure, status, code, retryAfter] of failures) {
      fake.answer('burn', () => Promise.reject(failure));
      const response = await burn(BURN);
      const text = await response.clone().text();
      expect(text).not.toMatch(/secret/);
      expect([...(await problem(response)), response.headers.get('retry-after')]).toEqual([
        status,
        code,
        retryAfter,
      ]);
    }
    for (const [operation, path, code] of [
      ['currentBatch', '/v1/flywheel/batch/current', 'ERR_BATCH_CURRENT_FAILED'],
      ['initBatch', '/v1/flywheel/batch/init', 'ERR_BATCH_INIT_FAILED'],
      ['executeBatch', '/v1/flywheel/batch/execute', 'ERR_BATCH_EXECUTE_FAILED'],
    ] as const) {
      fake.answer(operation, () => Promise.reject(new Error('secret')));
      const method = operation === 'currentBatch' ? 'GET' : 'POST';
      const response = await ask(path, {
        method,
        headers: { ...KEY, ...JSON_TYPE },
        ...(method === 'POST' ? { body: '{}' } : {}),
      });
      expect(await problem(response)).toEqual([500, code]);
    }
  });

  it('writes one line an answer to the log, without key, proof or query', async () => {
    await burn(BURN, { 'x-request-id': 'log-1', authorization: 'Bearer token-in-the-open' });
    await ask(`/v1/nothing?key=${GOOD_KEY}`, { headers: KEY });
    fake.answer('burn', () => Promise.reject(new Error('broken inside')));
    await burn(BURN);
    await server.closeGracefully(1_000);
    const log = server.logLines.join('');
    expect(log).not.toContain(GOOD_KEY);
    expect(log).not.toContain('token-in-the-open');
    expect(log).not.toContain('A-1001');
    expect(log).toContain('broken inside');
    const lines = server.logLines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.find((line) => line['requestId'] === 'log-1')).toMatchObject({
      level: 'info',
      method: 'POST',
      route: '/v1/tokenomics/burn',
      status: 200,
      keyId: 'key-',
      msg: 'answered',
    });
  });
});

describe('a key', () => {
  it('may have rates of its own', async () => {
    const { service } = fakeService();
    const server = await startServer(
      {
        service,
        authenticate: authenticateFor(service, async (credential) => {
          const principal = await fakeAuthenticate(credential);
          return principal.keyId === 'key-wide'
            ? { ...principal, rates: { burn: { points: 50, windowSeconds: 2 } } }
            : principal;
        }),
      },
      { rateLimits: { burn: { name: 'burn', points: 1, windowSeconds: 3_600 } } },
    );
    const burn = async (key: string): Promise<Headers> => {
      const headers = { ...JSON_TYPE, 'x-service-api-key': GOOD_KEY + key };
      return (await fetch(`${server.url}/v1/tokenomics/burn`, { method: 'POST', body: BURN, headers }))
        .headers;
    };
    const wide = await burn('wide');
    expect([wide.get('ratelimit-policy'), wide.get('ratelimit')]).toEqual([
      '"burn";q=50;w=2',
      '"burn";r=49;t=1',
    ]);
    expect((await burn('')).get('ratelimit-policy')).toBe('"burn";q=1;w=3600');
    await server.closeGracefully(1_000);
  });
});

describe('service routes', () => {
  const open = async (
    ready: () => Promise<void>,
    use: (server: RunningServer) => Promise<void>,
    token?: string,
  ): Promise<void> => {
    const fake = fakeService();
    // Beyond the limit only a repeat is asked for, and here everything is one.
    fake.answer('burn', ({ call }) => ({
      value: EXAMPLES.burn.response,
      meta: { replayed: call.repeatOnly === true },
    }));
    const server = await startServer(
      {
        service: fake.service,
        health: { ready },
        metrics: {
          state: async () => ({
            batches: { AVAILABLE_TO_QUEUE: 0, FINALIZED: 3, EXECUTED: 1, FAILED: 0 },
            ...{ unfinished: {}, oldestSeconds: 0, gaps: 0, wallets: null },
          }),
        },
      },
      {
        ...(token === undefined ? {} : { metricsToken: new Secret(token) }),
        rateLimits: { burn: { name: 'burn', points: 1, windowSeconds: 60 } },
      },
    );
    try {
      await use(server);
    } finally {
      await server.closeGracefully(1_000);
    }
  };

  it('is alive always, and ready when store and chain answer', async () => {
    let down: Error | undefined;
    await open(
      async () => {
        if (down !== undefined) throw down;
      },
      async ({ url }) => {
        expect((await fetch(`${url}/healthz`)).status).toBe(200);
        expect((await fetch(`${url}/readyz`)).status).toBe(200);
        const cause = new FlywheelError('ERR_STORE_UNAVAILABLE', 'The store at 10.0.0.7 is away.');
        const behind = new FlywheelError('ERR_STORE_BEHIND', 'No project is written.');
        for (const [error, code, message] of [
          [new FlywheelError('ERR_UNAVAILABLE', 'No node at 10.0.0.7.'), 'ERR_UNAVAILABLE', 'The chain'],
          [cause, 'ERR_UNAVAILABLE', 'The store'],
          [new FlywheelError('ERR_UNAVAILABLE', 'Late.', { cause }), 'ERR_UNAVAILABLE', 'The store'],
          [behind, 'ERR_STORE_BEHIND', 'No project is written.'],
        ] as const) {
          down = error;
          const response = await fetch(`${url}/readyz`);
          expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
          const text = await response.text();
          expect(JSON.parse(text)).toEqual({ error: code, message: expect.stringContaining(message) });
          expect(text).not.toContain('10.0.0.7');
        }
        expect((await fetch(`${url}/healthz`)).status).toBe(200);
      },
    );
  });

  it('counts requests, burns and batches', async () => {
    await open(
      async () => undefined,
      async ({ url }) => {
        const init = { method: 'POST', body: BURN, headers: { ...KEY, ...JSON_TYPE } };
        await fetch(`${url}/v1/tokenomics/burn`, init);
        await fetch(`${url}/v1/tokenomics/burn`, init);
        const headers = { ...init.headers, 'x-idempotency-key': 'a' };
        await fetch(`${url}/v1/tokenomics/burn`, { ...init, headers });
        const text = await (await fetch(`${url}/metrics`)).text();
        for (const line of [
          'flywheel_http_requests_total{operation="burn",status="200"} 2',
          'flywheel_http_requests_total{operation="burn",status="429"} 1',
          'flywheel_burns_total{result="success"} 1',
          'flywheel_batches{status="FINALIZED"} 3',
          'flywheel_http_requests_running 0',
        ]) {
          expect(text).toContain(line);
        }
        expect(text).toMatch(
          /flywheel_http_request_duration_seconds_bucket\{le="0\.005",operation="burn"\} \d/,
        );
      },
    );
  });

  it('gives metrics to this machine only, or to who holds the token', async () => {
    await open(
      async () => undefined,
      async ({ url }) => {
        expect((await fetch(`${url}/metrics`, { headers: { 'x-forwarded-for': '10.0.0.1' } })).status).toBe(
          401,
        );
      },
    );
    await open(
      async () => undefined,
      async ({ url }) => {
        expect((await fetch(`${url}/metrics`)).status).toBe(401);
        expect((await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer no' } })).status).toBe(401);
        expect((await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer right' } })).status).toBe(
          200,
        );
      },
      'right',
    );
  });

  it('serves its description as OpenAPI and as a page', async () => {
    await open(
      async () => undefined,
      async ({ url }) => {
        const document = (await (await fetch(`${url}/openapi.json`)).json()) as { openapi: string };
        expect(document.openapi).toBe('3.1.0');
        const page = await fetch(`${url}/docs`);
        expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
        const html = await page.text();
        expect(html).toContain('POST /v1/tokenomics/burn-batch');
        expect(page.headers.get('content-security-policy')).toMatch(
          /^default-src 'none'; style-src 'unsafe-inline'; base-uri 'none';/,
        );
        expect(html).not.toMatch(/<script| src=|url\(|@import|javascript:|href="http/);
        for (const { id } of OPERATION_LIST) expect(html).toContain(`<section id="${id}">`);
        const root = await fetch(`${url}/`, { redirect: 'manual' });
        expect([root.status, root.headers.get('location')]).toEqual([302, '/docs']);
      },
    );
  });
});
