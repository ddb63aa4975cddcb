import { afterEach, describe, expect, it } from 'vitest';
import type { HttpServerOptions } from '../../../src/http/options.js';
import { Secret } from '../../../src/values/secret.js';
import { fakeService, GOOD_KEY } from '../../support/fake-service.js';
import { type RunningServer, startServer } from '../../support/http.js';
import { sendRaw } from '../../support/http-raw.js';
import { EXAMPLES } from '../../support/wire-examples.js';

const BURN = '/v1/tokenomics/burn';
const PAGE = 'https://app.example.com';

describe('pages in a browser', () => {
  const opened: RunningServer[] = [];

  afterEach(async () => {
    for (const server of opened.splice(0)) await server.closeGracefully(1_000);
  });
  const open = async (options: HttpServerOptions = {}): Promise<RunningServer> => {
    const server = await startServer({ service: fakeService().service }, options);
    opened.push(server);
    return server;
  };

  it('may read nothing', async () => {
    const server = await open();
    const ask = (method: string, headers: Record<string, string>): Promise<Response> =>
      fetch(server.url + BURN, {
        ...{ method, headers: { 'x-service-api-key': GOOD_KEY, origin: PAGE, ...headers } },
        ...(method === 'POST' ? { body: JSON.stringify(EXAMPLES.burn.request) } : {}),
      });
    const preflight = await ask('OPTIONS', { 'access-control-request-method': 'POST' });
    const answer = await ask('POST', { 'content-type': 'application/json' });
    expect([preflight.status, answer.status]).toEqual([405, 200]);
    const names = [...preflight.headers.keys(), ...answer.headers.keys()];
    expect(names.filter((name) => name.startsWith('access-control'))).toEqual([]);
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
