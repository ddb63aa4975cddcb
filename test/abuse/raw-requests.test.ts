import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXAMPLES, type FakeService, fakeService, GOOD_KEY } from '../support/fake-service.js';
import { type RunningServer, startServer } from '../support/http.js';
import { sendRaw } from '../support/http-raw.js';

const MAX_HEADER_LINES = 256;
const BURN = JSON.stringify(EXAMPLES.burn.request);
const post = (path: string, headers: readonly string[], body: string): string =>
  [`POST ${path} HTTP/1.1`, 'host: a', `x-service-api-key: ${GOOD_KEY}`, ...headers, '', body].join('\r\n');
const JSON_TYPE = 'content-type: application/json';
const CLOSE = 'connection: close';
const get = (path: string, ...headers: string[]): string =>
  [`GET ${path} HTTP/1.1`, 'host: a', `x-service-api-key: ${GOOD_KEY}`, ...headers, '', ''].join('\r\n');

describe('requests that no client sends', () => {
  let fake: FakeService;
  let server: RunningServer;

  beforeEach(async () => {
    fake = fakeService();
    server = await startServer(
      { service: fake.service },
      { limits: { maxHeaderBytes: 4_096, headersTimeoutMs: 300, requestTimeoutMs: 500, maxConnections: 20 } },
    );
  });
  afterEach(async () => {
    await server.closeGracefully(1_000);
  });

  const refused = async (raw: string | Buffer, statuses: readonly number[]): Promise<void> => {
    const answers = await sendRaw(server.port, raw);
    expect(answers).toHaveLength(1);
    const [answer] = answers;
    expect(statuses).toContain(answer?.status);
    expect(answer?.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer?.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer?.headers['connection']).toBe('close');
    expect(Object.keys(JSON.parse(answer?.body ?? '') as object)).toEqual(['error', 'message']);
    expect(fake.calls).toEqual([]);
  };

  it.each([
    ['not HTTP', 'hello\r\n\r\n'],
    ['a TLS hello', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])],
    ['HTTP/9.9', 'GET / HTTP/9.9\r\n\r\n'],
    ['a bad header name', get('/v1/flywheel/batch/current', 'x y: 1')],
    ['a line break inside a header', get('/v1/flywheel/batch/current', 'x: a\nb: c\rd')],
    ['a NUL in a header', get('/v1/flywheel/batch/current', 'x: a\0b')],
    ['a negative length', post('/v1/tokenomics/burn', [JSON_TYPE, 'content-length: -1'], '')],
    ['a length that is not a number', post('/v1/tokenomics/burn', [JSON_TYPE, 'content-length: 1e3'], '')],
    ['obsolete line folding', get('/v1/flywheel/batch/current', 'x: a', ' folded')],
  ])('refuses %s with 400 and closes', async (_name, raw) => {
    await refused(raw, [400]);
  });

  it('refuses header lines over the limit with 431', async () => {
    await refused(get('/v1/flywheel/batch/current', `x: ${'a'.repeat(5_000)}`), [431]);
    await refused(get(`/v1/flywheel/batch/${'a'.repeat(5_000)}`), [431]);
  });

  it.each([
    ['a host', 'host: b'],
    ['an idempotency key', 'x-idempotency-key: 5f0a'],
    ['an encoding', 'content-encoding: gzip'],
  ])('reads no request without %s that stands behind more lines than are read', async (_name, line) => {
    const lines = (count: number) => [
      JSON_TYPE,
      `content-length: ${BURN.length}`,
      ...Array(count).fill('a:'),
      line,
    ];
    await refused(post('/v1/tokenomics/burn', lines(1_100), BURN), [400]);
    await refused(post('/v1/tokenomics/burn', lines(MAX_HEADER_LINES - 4), BURN), [400]);
  });

  it('reads as many header lines as it says', async () => {
    const lines = [...Array(MAX_HEADER_LINES - 4).fill('a:'), 'x-request-id: last', CLOSE];
    const [answer] = await sendRaw(server.port, get('/v1/flywheel/batch/current', ...lines));
    expect([answer?.status, answer?.headers['x-request-id']]).toEqual([200, 'last']);
  });

  it('gives up on header lines and bodies that do not arrive, with 408', async () => {
    await refused('GET /v1/flywheel/batch/current HTTP/1.1\r\nhost: a\r\n', [408]);
    await refused(post('/v1/tokenomics/burn', [JSON_TYPE, 'content-length: 100'], '{"type"'), [408]);
  });

  it('answers pipelined requests each, in order', async () => {
    const burnRequest = post('/v1/tokenomics/burn', [JSON_TYPE, `content-length: ${BURN.length}`], BURN);
    const answers = await sendRaw(
      server.port,
      get('/v1/flywheel/batch/current') +
        burnRequest +
        get('/v1/nothing') +
        get('/v1/flywheel/batch/current', CLOSE),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 200]);
    expect(fake.calls.map(({ operation }) => operation).sort()).toEqual([
      'burn',
      'currentBatch',
      'currentBatch',
    ]);
  });

  it('takes the rest of a body as a body, never as a request', async () => {
    const smuggled = get('/v1/flywheel/batch/current');
    const answers = await sendRaw(
      server.port,
      post(
        '/v1/tokenomics/burn',
        ['content-type: text/plain', `content-length: ${smuggled.length}`],
        smuggled,
      ) + get('/healthz', CLOSE),
    );
    expect(answers.map(({ status }) => status)).toEqual([415, 200]);
    expect(fake.calls).toEqual([]);
    const withBody = [get('/v1/flywheel/batch/current', `content-length: ${smuggled.length}`), smuggled].join(
      '',
    );
    const second = await sendRaw(server.port, withBody + get('/healthz', CLOSE));
    expect(second.map(({ status }) => status)).toEqual([200, 200]);
    expect(fake.calls).toHaveLength(1);
  });

  it('knows no path but its own, however it is written', async () => {
    const paths = [
      '/v1/flywheel/batch/../../../metrics',
      '/v1//flywheel/batch/current',
      '/v1/flywheel/batch/current/',
      '/v1/flywheel/batch/current;x=1',
      '/v1/flywheel/batch/current%2f',
      '/V1/flywheel/batch/current',
      '/./v1/flywheel/batch/current',
      '*',
    ];
    for (const path of paths) {
      const [answer] = await sendRaw(server.port, get(path, CLOSE));
      expect([
        path,
        [400, 404].includes(answer?.status ?? 0) || fake.calls.at(-1)?.operation === 'getBatch',
      ]).toEqual([path, true]);
      expect(fake.calls.filter(({ operation }) => operation === 'currentBatch')).toEqual([]);
    }
    const [malformed] = await sendRaw(server.port, get('/v1/flywheel/batch/%zz', CLOSE));
    expect([malformed?.status, malformed?.headers['x-request-id']]).toEqual([
      400,
      expect.stringMatching(/./),
    ]);
  });

  it('takes a header sent twice for neither', async () => {
    const twice = await sendRaw(
      server.port,
      get(
        '/v1/flywheel/batch/current',
        `x-service-api-key: ${GOOD_KEY}`,
        'x-request-id: a',
        'x-request-id: b',
        CLOSE,
      ),
    );
    expect(twice[0]?.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    const [keys] = await sendRaw(
      server.port,
      post(
        '/v1/tokenomics/burn',
        [JSON_TYPE, 'x-idempotency-key: a', 'x-idempotency-key: b', `content-length: ${BURN.length}`, CLOSE],
        BURN,
      ),
    );
    expect([keys?.status, keys?.body]).toEqual([400, expect.stringContaining('x-idempotency-key')]);
  });

  it('refuses an expectation that it does not know, in the shape of every error', async () => {
    const [answer] = await sendRaw(
      server.port,
      post(
        '/v1/tokenomics/burn',
        [JSON_TYPE, 'expect: a-miracle', `content-length: ${BURN.length}`, CLOSE],
        BURN,
      ),
    );
    expect([answer?.status, JSON.parse(answer?.body ?? '{}')]).toMatchObject([
      400,
      { error: 'ERR_INVALID_REQUEST' },
    ]);
  });
});

describe('closeGracefully', () => {
  const slowServer = async () => {
    const fake = fakeService();
    const server = await startServer({ service: fake.service });
    let finish = (): void => undefined;
    const started = new Promise<void>((resolve) => {
      fake.answer('currentBatch', () => {
        resolve();
        return new Promise((done) => {
          finish = () => done({ value: null, meta: { replayed: false } });
        });
      });
    });
    return { fake, server, started, finish: () => finish() };
  };

  it('answers 503 what is still running when time is up, and tells the service to stop', async () => {
    const { fake, server, started, finish } = await slowServer();
    const running = fetch(`${server.url}/v1/flywheel/batch/current`, {
      headers: { 'x-service-api-key': GOOD_KEY },
    });
    await started;
    const closed = server.closeGracefully(50);
    const response = await running;
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    expect(fake.calls[0]?.call.signal?.aborted).toBe(true);
    finish();
    expect(await closed).toBe(false);
  });
});
