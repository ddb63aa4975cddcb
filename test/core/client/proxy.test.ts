/** Broken proxies: no request passes, the command ends, and no password is shown. */
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { connect, type Socket } from 'node:net';
import { Client, EnvHttpProxyAgent } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RemoteServiceDeps } from '../../../src/client/remote-service.js';
import type { Call } from '../../../src/contract/call.js';
import type { BurnRequest } from '../../../src/contract/schemas/burn.js';
import type { Service } from '../../../src/contract/service.js';
import type { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { proxyFor } from '../../../src/transport/dial.js';
import { Secret } from '../../../src/values/secret.js';
import { EXAMPLES } from '../../support/fake-service.js';
import {
  answers,
  type Behaviour,
  closes,
  drip,
  resets,
  silent,
  startHostile,
} from '../../support/hostile.js';
import { remoteClient } from '../../support/http.js';
import { startTlsServer, TEST_CERTIFICATE, TEST_PRIVATE_KEY } from '../../support/http-tls.js';
import { onLoopback } from '../../support/loopback.js';
import { failureOf } from '../../support/service.js';

const KEY = 'secret-api-key-1234567890';
const PASSWORD = 'hunter2-of-the-proxy';
const call: Call = { credential: new Secret(KEY), idempotencyKey: '6f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f12' };
const burn = EXAMPLES.burn.request as BurnRequest;
const TIMEOUT_MS = 150;
const BASE = 'https://api.flywheel.test/base';

/**
 * Tunnels every CONNECT to one loopback port, whatever its host; a secure proxy speaks TLS itself.
 * @returns `asked`: hosts; `seen`: all that the proxy saw in plain text
 */
async function startTunnel(port: number, { secure = false } = {}) {
  const [asked, seen]: [string[], string[]] = [[], []];
  const refuse = (request: IncomingMessage, response: ServerResponse): void => {
    seen.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    response.writeHead(500).end();
  };
  const server = secure
    ? createHttps({ cert: TEST_CERTIFICATE, key: TEST_PRIVATE_KEY }, refuse)
    : createHttp(refuse);
  server.on('connect', (request, client: Socket) => {
    asked.push(request.url ?? '');
    seen.push(JSON.stringify(request.headers));
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.on('data', (chunk: Buffer) => seen.push(chunk.toString('latin1')));
      client.pipe(upstream).pipe(client);
    });
    upstream.on('error', () => client.destroy());
    client.on('error', () => upstream.destroy());
  });
  const { port: own, close } = await onLoopback(server);
  onTestFinished(close);
  return { port: own, asked, seen };
}

function through(proxyUrl: string, deps: Partial<RemoteServiceDeps> = {}) {
  const opened = remoteClient(BASE, {
    requestTimeoutMs: TIMEOUT_MS,
    extraCa: TEST_CERTIFICATE,
    proxy: { httpsProxy: proxyUrl },
    ...deps,
  });
  onTestFinished(() => opened.service.close());
  return opened;
}

const failedBurn = (service: Service): Promise<FlywheelError> => failureOf(service.burn(burn, call));

const OPEN = 'HTTP/1.1 200 Connection established\r\n\r\n';
const ends = (socket: Socket): void => void socket.end();
const cuts = (socket: Socket): void => void socket.resetAndDestroy();
const dripping = (text: string, everyMs: number): Behaviour =>
  answers('HTTP/1.1 200 OK\r\n', (socket) => drip(socket, text, everyMs));
const refuses = (status: string, lines = ''): Behaviour => answers(`HTTP/1.1 ${status}\r\n${lines}\r\n`);
const BROKE = /broke off instead of connecting|cannot be reached/;
const STAYED_SILENT = /stayed silent instead of connecting|stayed silent|No connection to/;
const CLOSED = /api\.flywheel\.test (?:closed the connection|cannot be reached)/;
const NOT_HTTP = /something that is not HTTP/;

describe('a proxy that', () => {
  it.each([
    ['closes at once', closes, 3, BROKE],
    ['resets at once', resets, 3, BROKE],
    ['is silent', silent, 3, STAYED_SILENT],
    ['closes on CONNECT', answers('', ends), 3, /broke off instead of connecting to api/],
    ['resets on CONNECT', answers('', cuts), 3, /broke off/],
    ['stops in its answer', answers('HTTP/1.1 200 OK\r\nx'), 3, STAYED_SILENT],
    ['drips its answer', dripping('x: 1\r\n', 5), 3, STAYED_SILENT],
    ['answers without end', dripping(`x: ${'y'.repeat(8_000)}\r\n`, 1), 3, NOT_HTTP],
    ['does not speak HTTP', answers('SSH-2.0-OpenSSH_9.6\r\n\r\n'), 3, NOT_HTTP],
    [
      'wants a password',
      refuses('407 Who?', 'proxy-authenticate: Basic\r\n'),
      1,
      /answered 407 instead of connecting/,
    ],
    ['forbids it', answers('HTTP/1.1 403 No\r\n\r\n<html>'), 1, /answered 403/],
    ['does not reach the service', refuses('502 Bad Gateway'), 3, /answered 502/],
    ['redirects', refuses('302 Go', 'location: http://127.0.0.1/\r\n'), 1, /answered 302/],
    ['says 200 and closes', answers(OPEN, ends), 3, CLOSED],
    ['says 200 and resets', answers(OPEN, cuts), 3, CLOSED],
    ['says 200 and no more', answers(OPEN), 3, /took too long|No connection to/],
    [
      'answers in the name of the service',
      answers(`${OPEN}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnull`),
      ...[3, /answered in place of the service/],
    ],
    [
      'opens a tunnel to plain http',
      answers(OPEN, (socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad\r\n\r\n'))),
      ...[1, /api\.flywheel\.test does not speak TLS/],
    ],
  ] as [string, Behaviour, number, RegExp][])(
    '%s: unavailable, nothing sent, and not asked for ever',
    async (_name, behave, mostConnections, message) => {
      const proxy = await startHostile(behave);
      const { service } = through(`http://127.0.0.1:${proxy.port}`);
      const error = await failedBurn(service);
      expect([error.code, error.exitCode, error.options.idempotencyKey]).toEqual([
        'ERR_UNAVAILABLE',
        6,
        call.idempotencyKey,
      ]);
      expect(error.message).toMatch(message);
      expect(error.message).toMatch(/Nothing was sent\.$/);
      expect(proxy.connections).toBeLessThanOrEqual(mostConnections);
      expect(proxy.received).not.toContain(KEY);
    },
  );

  it('opens the tunnel to a service that then breaks off leaves the outcome open', async () => {
    const server = await startTlsServer({}, (response) => void response.socket?.destroy());
    const tunnel = await startTunnel(server.port);
    const { service } = through(`http://127.0.0.1:${tunnel.port}`, { requestTimeoutMs: 2_000 });
    const error = await failedBurn(service);
    expect(error).toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN', exitCode: 7 });
    expect([tunnel.asked.length, server.asked.length]).toEqual([3, 3]);
  });
});

describe('a proxy that speaks TLS itself', () => {
  it('carries TLS within TLS, and sees no more than a plain one', async () => {
    const server = await startTlsServer();
    const tunnel = await startTunnel(server.port, { secure: true });
    const { service } = through(`https://127.0.0.1:${tunnel.port}`, { requestTimeoutMs: 5_000 });
    expect((await service.currentBatch(call)).value).toBeNull();
    expect((await service.currentBatch(call)).value).toBeNull();
    expect(tunnel.asked).toEqual(['api.flywheel.test:443']);
    expect(tunnel.seen.join('')).not.toContain(KEY);
  });

  it('is not believed without a certificate that holds', async () => {
    const tunnel = await startTunnel(1, { secure: true });
    const { service } = remoteClient(BASE, {
      requestTimeoutMs: 2_000,
      proxy: { httpsProxy: `https://me:${PASSWORD}@127.0.0.1:${tunnel.port}` },
    });
    onTestFinished(() => service.close());
    const error = await failedBurn(service);
    expect(error.message).toMatch(
      /^The certificate of the proxy 127\.0\.0\.1:\d+ is not trusted: it is from an unknown authority/,
    );
    expect([error.exitCode, tunnel.seen]).toEqual([6, []]);
  });
});

describe('user and password of a proxy', () => {
  const encoded = encodeURIComponent(`${PASSWORD}:@/%`);
  const basic = Buffer.from(`me:${PASSWORD}:@/%`).toString('base64');

  it('open the tunnel', async () => {
    const server = await startTlsServer();
    const tunnel = await startTunnel(server.port);
    const { service, lines } = through(`http://me:${encoded}@127.0.0.1:${tunnel.port}`, {
      requestTimeoutMs: 5_000,
    });
    expect((await service.currentBatch(call)).value).toBeNull();
    expect(tunnel.seen[0]).toContain(`Basic ${basic}`);
    expect(server.asked).toEqual(['/base/v1/flywheel/batch/current']);
    expect(lines.join('\n')).not.toContain(PASSWORD);
    expect(lines.join('\n')).not.toContain(basic);
  });

  it('are shown nowhere when it does not work', async () => {
    for (const behave of [
      closes,
      answers(`HTTP/1.1 407 ${PASSWORD}\r\nx: ${basic}\r\n\r\n`),
      answers('nonsense\r\n\r\n'),
    ]) {
      const proxy = await startHostile(behave);
      const { service, lines } = through(`http://me:${encoded}@127.0.0.1:${proxy.port}`);
      const error = await failedBurn(service);
      const all = [error.message, error.hint, error.stack, String(error.options.cause), ...lines].join('\n');
      for (const secret of [PASSWORD, encoded, basic]) expect(all).not.toContain(secret);
    }
  });

  it.each([
    ...['nonsense', 'proxy:3128', 'ftp://proxy:21', 'socks5://me:hunter2@proxy:1080', 'http://'],
    ...['http://me:hunter2@', 'http://me:%zz-hunter2@proxy:3128', 'https://proxy:99999'],
  ])('and an address that is none are a matter of configuration: %s', (httpsProxy) => {
    try {
      remoteClient(BASE, { proxy: { httpsProxy } });
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({ code: 'ERR_CONFIG_INVALID', exitCode: 2 });
      const { message, hint, stack, options } = error as FlywheelError;
      const all = [message, hint, stack, String(options.cause)].join('\n');
      expect(message).toContain('HTTPS_PROXY');
      expect(all.replace('user:password@', '')).not.toMatch(/hunter2|nonsense|me:|proxy:\d/);
    }
  });

  it('does not matter where no proxy is used', async () => {
    for (const [base, noProxy] of [
      ['http://127.0.0.1:1', ''],
      ['https://localhost:1', ''],
      ['https://api.flywheel.test', 'flywheel.test'],
    ] as const)
      expect(() => remoteClient(base, { proxy: { httpsProxy: 'nonsense', noProxy } })).not.toThrow();
  });
});

describe('NO_PROXY', () => {
  async function undiciGoesStraight(url: string, noProxy: string): Promise<boolean> {
    let straight = false;
    const fail = (): Error => new Error('only the way matters');
    const agent = new EnvHttpProxyAgent({
      httpProxy: '',
      httpsProxy: 'http://127.0.0.1:1',
      noProxy,
      connect: (_to, callback) => {
        straight = true;
        callback(fail(), null);
      },
      clientFactory: (origin) => new Client(origin, { connect: (_to, callback) => callback(fail(), null) }),
    });
    const { origin } = new URL(url);
    await agent.request({ origin, path: '/', method: 'GET' }).catch(() => undefined);
    await agent.close();
    return straight;
  }

  const NAMES = [
    ...['', '*', ' ', '*,', 'a,*', 'flywheel.test', '.flywheel.test', '*.flywheel.test', 'API.Flywheel.Test'],
    ...['wheel.test', 'test', 'api.flywheel.test:443', 'api.flywheel.test:8443', 'flywheel.test:0'],
    ...['other.test, api.flywheel.test', 'other.test\tflywheel.test:8443', '10.0.0.1', '10.0.0.0/8', '0.0.1'],
    ...['[2001:db8::1]', '2001:db8::1', '[2001:db8::1]:443', '.', 'flywheel.test.'],
  ];
  const URLS = [
    ...['https://api.flywheel.test', 'https://API.flywheel.test:8443/base', 'https://flywheel.test'],
    ...['https://otherflywheel.test', 'https://10.0.0.1', 'https://[2001:db8::1]'],
    'https://api.flywheel.test.',
  ];

  it.each(URLS)('means for %s what it means to undici', async (url) => {
    const ours = NAMES.map((noProxy) => [
      noProxy,
      proxyFor(new URL(url), { httpsProxy: 'http://127.0.0.1:1', noProxy }) === undefined,
    ]);
    const theirs = await Promise.all(
      NAMES.map(async (noProxy) => [noProxy, await undiciGoesStraight(url, noProxy)] as const),
    );
    expect(ours).toEqual(theirs);
  });
});
