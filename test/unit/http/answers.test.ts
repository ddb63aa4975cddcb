import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../../src/contract/examples.js';
import { OPERATION_LIST } from '../../../src/contract/operations.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { Secret } from '../../../src/values/secret.js';
import { type FakeService, fakeAuthenticate, fakeService, GOOD_KEY } from '../../support/fake-service.js';
import { type RunningServer, startServer } from '../../support/http.js';

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

  it('answers unknown paths 404 and other methods 405 with allow', async () => {
    for (const path of [
      '/nowhere',
      '/v1',
      '/v1/tokenomics/burn/',
      '//v1/tokenomics/burn',
      '/V1/tokenomics/burn',
    ]) {
      expect(
        await problem(
          await ask(path, { method: 'POST', body: '{"broken', headers: { 'content-type': 'x' } }),
        ),
      ).toEqual([404, 'ERR_NOT_FOUND']);
    }
    const cases = [
      ['GET', '/v1/tokenomics/burn', 'POST'],
      ['GET', '/v1/flywheel/batch/init', 'POST'],
      ['PUT', '/v1/flywheel/batch/init', 'POST'],
      ['POST', '/v1/flywheel/batch/current', 'GET'],
      ['DELETE', '/v1/flywheel/batch/5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11', 'GET'],
      ['PROPFIND', '/v1/flywheel/batch/current', 'GET'],
      ['POST', '/healthz', 'GET'],
    ] as const;
    for (const [method, path, allow] of cases) {
      const response = await ask(path, { method });
      expect([path, response.headers.get('allow')]).toEqual([path, allow]);
      expect(await problem(response)).toEqual([405, 'ERR_METHOD_NOT_ALLOWED']);
    }
    const head = await ask('/v1/flywheel/batch/current', { method: 'HEAD' });
    expect([head.status, head.headers.get('allow')]).toEqual([405, 'GET']);
  });

  it('asks for the key before it looks at anything else', async () => {
    const bad: RequestInit[] = [
      { headers: {} },
      { headers: { 'x-service-api-key': 'nobody' } },
      { headers: { 'x-service-api-key': '' } },
      { headers: { 'content-type': 'text/html' }, body: '<' },
      { headers: { 'content-type': 'application/json' }, body: 'x'.repeat(20_000) },
      { headers: { 'content-type': ';;;' }, body: '{"a":1,"a":2}' },
      { headers: { 'x-idempotency-key': 'with space' } },
    ];
    for (const init of bad) {
      const response = await ask('/v1/tokenomics/burn-batch', { method: 'POST', ...init });
      expect(await problem(response)).toEqual([401, 'ERR_UNAUTHORIZED']);
    }
    expect(fake.calls).toEqual([]);
  });

  it('refuses what is not plain JSON with 415', async () => {
    const headers = [
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': 'application/json-patch+json' },
      { 'content-type': 'application/json; charset=latin1' },
      { 'content-type': ';' },
      { 'content-encoding': 'gzip' },
    ];
    for (const header of headers) {
      expect([header, ...(await problem(await burn(BURN, header as Record<string, string>)))]).toEqual([
        header,
        415,
        'ERR_UNSUPPORTED_MEDIA_TYPE',
      ]);
    }
    for (const type of ['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"']) {
      expect((await burn(BURN, { 'content-type': type })).status).toBe(200);
    }
  });

  it('refuses bodies over the limit with 413, announced or not', async () => {
    expect(await problem(await burn('x'.repeat(10_001)))).toEqual([413, 'ERR_PAYLOAD_TOO_LARGE']);
    const response = await ask('/v1/tokenomics/burn', {
      method: 'POST',
      body: new Blob(['x'.repeat(10_001)]).stream(),
      headers: { ...JSON_TYPE, ...KEY },
      duplex: 'half',
    } as RequestInit);
    expect(await problem(response)).toEqual([413, 'ERR_PAYLOAD_TOO_LARGE']);
    expect(fake.calls).toEqual([]);
  });

  it('refuses text that is not strict JSON, naming the place', async () => {
    const bodies = ['', '{', '{"type":"A","type":"B"}', `${'['.repeat(70)}${']'.repeat(70)}`, '{"a":NaN}'];
    for (const body of bodies) {
      expect([body, ...(await problem(await burn(body)))]).toEqual([body, 400, 'ERR_INVALID_REQUEST']);
    }
    expect(await problem(await burn(new Uint8Array([0x22, 0xff, 0x22])))).toEqual([
      400,
      'ERR_INVALID_REQUEST',
    ]);
    expect(fake.calls).toEqual([]);
  });

  it('hands numbers that a double cannot carry on as they were written', async () => {
    const text = BURN.replace('12.5', '18446744073709551615').replace('49.9', '1e400');
    fake.answer('burn', ({ input }) => ({ value: input, meta: { replayed: false } }));
    expect(await (await burn(text)).text()).toBe(text);
  });

  it('keeps __proto__ an ordinary key', async () => {
    await burn('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
    expect(Object.keys(fake.calls[0]?.input as object)).toEqual(['__proto__', 'constructor']);
  });

  it('tells in a header that a key was not used, with a refusal only', async () => {
    const header = 'idempotency-key-unused';
    for (const [code, keyUnused, told] of [
      ['ERR_DAILY_LIMIT_EXCEEDED', true, 'true'],
      ['ERR_DAILY_LIMIT_EXCEEDED', false, null],
      ['ERR_INTERNAL', true, null],
      ['ERR_UNAVAILABLE', true, null],
    ] as const) {
      fake.answer('burn', () => {
        throw new FlywheelError(code, 'No.', { keyUnused });
      });
      expect([code, (await burn(BURN)).headers.get(header)]).toEqual([code, told]);
    }
    const doors = [
      await burn('{'),
      await burn('x'.repeat(10_001)),
      await burn(BURN, { 'content-type': 'text/plain' }),
      await burn(BURN, { 'x-service-api-key': 'nobody' }),
      await ask('/v1/tokenomics/burnt', { method: 'POST', headers: KEY }),
    ];
    expect(doors.map((response) => [response.status, response.headers.get(header)])).toEqual(
      [400, 413, 415, 401, 404].map((status) => [status, null]),
    );
  });

  it('gives back a harmless request id, and a fresh one for any other', async () => {
    const id = async (sent: string): Promise<string | null> =>
      (await burn(BURN, { 'x-request-id': sent })).headers.get('x-request-id');
    expect(await id('abc-1.2')).toBe('abc-1.2');
    expect(await id('with space')).toMatch(/^[0-9a-f-]{36}$/);
    expect(await id('x'.repeat(129))).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('tells of deprecation, limits, replay and cost', async () => {
    fake.answer('burn', () => ({
      value: EXAMPLES.burn.response,
      meta: { replayed: true, cost: { feeLamports: 1n, rentPaidLamports: 2n, rentReclaimedLamports: 3n } },
    }));
    const { headers } = await burn(BURN);
    expect(headers.get('idempotent-replayed')).toBe('true');
    expect(headers.get('x-batch-cost')).toBe('fee=1;rent-paid=2;rent-reclaimed=3');
    expect(headers.get('deprecation')).toMatch(/^@\d+$/);
    expect(headers.get('link')).toContain('</v1/flywheel/batch/init>; rel="successor-version"');
    expect(headers.get('ratelimit-policy')).toBe('"burn";q=1000000;w=1');
    expect(headers.get('ratelimit')).toMatch(/^"burn";r=\d+;t=1$/);
    const current = (await ask('/v1/flywheel/batch/current', { headers: KEY })).headers;
    expect([current.get('deprecation'), current.get('link'), current.get('idempotent-replayed')]).toEqual([
      null,
      null,
      null,
    ]);
  });

  it('answers null as four bytes', async () => {
    fake.answer('currentBatch', () => ({ value: null, meta: { replayed: false } }));
    const response = await ask('/v1/flywheel/batch/current', { headers: KEY });
    expect([response.status, await response.text(), response.headers.get('content-length')]).toEqual([
      200,
      'null',
      '4',
    ]);
  });

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

describe('service routes', () => {
  const open = async (
    ready: () => Promise<void>,
    use: (server: RunningServer) => Promise<void>,
    token?: string,
  ): Promise<void> => {
    const server = await startServer(
      {
        service: fakeService().service,
        health: { ready },
        metrics: {
          batchesByStatus: async () => ({ AVAILABLE_TO_QUEUE: 0, FINALIZED: 3, EXECUTED: 1, FAILED: 0 }),
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
        const text = await (await fetch(`${url}/metrics`)).text();
        for (const line of [
          'flywheel_http_requests_total{operation="burn",status="200"} 1',
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

describe('the order of the checks', () => {
  it('is key, limit, scope, media type, body, service', async () => {
    const fake = fakeService();
    const server = await startServer(
      {
        service: fake.service,
        authenticate: async (credential) => ({
          ...(await fakeAuthenticate(credential)),
          scopes: ['airdrop'],
        }),
      },
      { rateLimits: { burn: { name: 'burn', points: 1, windowSeconds: 60 } } },
    );
    const status = async (path: string, headers: Record<string, string>): Promise<number> =>
      (await fetch(server.url + path, { method: 'POST', body: '{"broken', headers })).status;
    const burn = '/v1/tokenomics/burn';
    expect(await status(burn, { 'content-type': 'x' })).toBe(401);
    expect(await status(burn, { ...KEY, 'content-type': 'x' })).toBe(403);
    expect(await status(burn, { ...KEY, 'content-type': 'x' })).toBe(429);
    const init = '/v1/flywheel/batch/init';
    expect(await status(init, { ...KEY, 'content-type': 'x' })).toBe(415);
    expect(await status(init, { ...KEY, ...JSON_TYPE })).toBe(400);
    expect(fake.calls).toEqual([]);
    await server.closeGracefully(1_000);
  });
});
