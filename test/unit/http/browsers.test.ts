import { afterEach, describe, expect, it } from 'vitest';
import type { HttpServerOptions } from '../../../src/http/options.js';
import { Secret } from '../../../src/values/secret.js';
import { type FakeService, fakeService, GOOD_KEY } from '../../support/fake-service.js';
import { type RunningServer, startServer } from '../../support/http.js';
import { sendRaw } from '../../support/http-raw.js';
import { EXAMPLES } from '../../support/wire-examples.js';

const BURN = '/v1/tokenomics/burn';
const PAGE = 'https://app.example.com';
const PREFLIGHT = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'content-type,x-service-api-key',
};

describe('pages in a browser', () => {
  let fake: FakeService;
  const opened: RunningServer[] = [];

  afterEach(async () => {
    for (const server of opened.splice(0)) await server.closeGracefully(1_000);
  });
  const open = async (options: HttpServerOptions = {}): Promise<RunningServer> => {
    fake = fakeService();
    const server = await startServer({ service: fake.service }, options);
    opened.push(server);
    return server;
  };
  const ask = (server: RunningServer, method: string, headers: Record<string, string>): Promise<Response> =>
    fetch(server.url + BURN, {
      method,
      headers: { 'x-service-api-key': GOOD_KEY, 'content-type': 'application/json', ...headers },
      ...(method === 'POST' ? { body: JSON.stringify(EXAMPLES.burn.request) } : {}),
    });
  const corsOf = ({ headers }: Response) =>
    [...headers].filter(([name]) => /^(access-control|vary)/.test(name));

  it('may read nothing unless their origin is named', async () => {
    const server = await open();
    const preflight = await ask(server, 'OPTIONS', { origin: PAGE, ...PREFLIGHT });
    expect([preflight.status, corsOf(preflight)]).toEqual([405, []]);
    const answer = await ask(server, 'POST', { origin: PAGE });
    expect([answer.status, corsOf(answer)]).toEqual([200, []]);
  });

  it('of a named origin may ask, and read the answer with its headers', async () => {
    const server = await open({
      corsOrigins: ['http://localhost:3000', PAGE],
      apiKeyHeader: 'x-brand-api-key',
      bearer: true,
    });
    const preflight = await ask(server, 'OPTIONS', { origin: PAGE, ...PREFLIGHT });
    expect([preflight.status, await preflight.text()]).toEqual([204, '']);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      'access-control-allow-origin': PAGE,
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers':
        'x-brand-api-key, content-type, x-idempotency-key, x-request-id, authorization',
      'access-control-max-age': '600',
      vary: 'Origin',
    });
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
    const answer = await ask(server, 'POST', { origin: PAGE, 'x-brand-api-key': GOOD_KEY });
    expect(answer.headers.get('access-control-allow-origin')).toBe(PAGE);
    expect(answer.headers.get('access-control-expose-headers')).toContain(
      'x-request-id, ratelimit, ratelimit-policy, retry-after',
    );
    const refused = await ask(server, 'POST', { origin: PAGE });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, PAGE]);
    expect(fake.calls).toHaveLength(1);
  });

  it.each([
    'https://app.example.com.evil.test',
    'http://app.example.com',
    'https://app.example.com:8443',
    'null',
  ])('of %s may not, when only another is named', async (origin) => {
    const server = await open({ corsOrigins: [PAGE] });
    const preflight = await ask(server, 'OPTIONS', { origin, ...PREFLIGHT });
    expect([preflight.status, corsOf(preflight)]).toEqual([405, [['vary', 'Origin']]]);
    expect(corsOf(await ask(server, 'POST', { origin }))).toEqual([['vary', 'Origin']]);
  });

  it.each([
    '*',
    'null',
    'app.example.com',
    'https://*.example.com',
    'https://app.example.com/',
    'https://u:p@app.example.com',
    '',
  ])('cannot be let in as %j, which is no origin', async (origin) => {
    await expect(open({ corsOrigins: [origin] })).rejects.toMatchObject({ code: 'ERR_CONFIG_INVALID' });
  });

  it('that have made their own name point here get no metrics', async () => {
    const server = await open();
    const metrics = async (host: string): Promise<number | undefined> => {
      const [answer] = await sendRaw(
        server.port,
        `GET /metrics HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
      );
      return answer?.status;
    };
    for (const host of [
      '127.0.0.1',
      `127.0.0.1:${server.port}`,
      'localhost',
      'LOCALHOST:80',
      '[::1]:9',
      '127.8.9.1',
    ]) {
      expect([host, await metrics(host)]).toEqual([host, 200]);
    }
    for (const host of [
      'evil.test',
      `evil.test:${server.port}`,
      '127.0.0.1.evil.test',
      'localhost.evil.test',
      '10.0.0.1',
      '',
    ]) {
      expect([host, await metrics(host)]).toEqual([host, 401]);
    }
    const proxied = await fetch(`${server.url}/metrics`, { headers: { 'x-forwarded-for': '10.0.0.1' } });
    expect(proxied.status).toBe(401);
  });

  it('and everybody else get metrics by the token, where there is one', async () => {
    const { port } = await open({ metricsToken: new Secret('right') });
    for (const [token, status] of [
      ['right', 200],
      ['wrong', 401],
      ['', 401],
    ] as const) {
      const request = `GET /metrics HTTP/1.1\r\nhost: metrics.example.com\r\nauthorization: Bearer ${token}\r\nconnection: close\r\n\r\n`;
      expect((await sendRaw(port, request))[0]?.status).toBe(status);
    }
  });
});

describe('the API key as a bearer token', () => {
  const status = async (options: HttpServerOptions, headers: Record<string, string>): Promise<number> => {
    const server = await startServer({ service: fakeService().service }, options);
    const response = await fetch(`${server.url}/v1/flywheel/batch/current`, { headers });
    await server.closeGracefully(1_000);
    return response.status;
  };
  const bearer = { authorization: `Bearer ${GOOD_KEY}` };

  it('is refused unless it is turned on', async () => {
    expect(await status({}, bearer)).toBe(401);
    expect(await status({ bearer: true }, bearer)).toBe(200);
    expect(await status({ bearer: true }, { authorization: `bearer  ${GOOD_KEY}` })).toBe(200);
  });

  it('is no way around the header of the key', async () => {
    expect(await status({ bearer: true }, { ...bearer, 'x-service-api-key': 'nobody' })).toBe(401);
    expect(await status({ bearer: true }, { ...bearer, 'x-service-api-key': '' })).toBe(401);
    expect(
      await status({ bearer: true }, { 'x-service-api-key': GOOD_KEY, authorization: 'Bearer nobody' }),
    ).toBe(200);
    expect(await status({ bearer: true }, { authorization: `Basic ${GOOD_KEY}` })).toBe(401);
    expect(await status({ bearer: true }, { authorization: `Bearer ${GOOD_KEY} more` })).toBe(401);
  });
});
