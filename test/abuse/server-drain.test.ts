/** `flywheel serve` that stops under load: every sent request gets its answer, and nothing burns twice. */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { Client } from 'undici';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fakeService, GOOD_KEY } from '../support/fake-service.js';
import { besides } from '../support/flywheel-here.js';
import { startServer } from '../support/http.js';
import { parseAnswers } from '../support/http-raw.js';
import {
  ask,
  initHome,
  killServers,
  type ServedHome,
  type ServeProcess,
  serve,
} from '../support/http-serve.js';
import { isLong, sampleOf } from '../support/long.js';

async function canConnect(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isConnected = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isConnected;
}

const PATH = '/v1/tokenomics/burn';
const BURN = { type: 'PRODUCT_BUY', proof: { load: true }, burnAmount: 1, persistOnchain: false };
const BODY = JSON.stringify(BURN);

interface Sent {
  readonly key: string;
  /** The HTTP status, or the code of what ended its connection; `ECONNREFUSED`: it was never sent. */
  outcome: number | string | undefined;
}

const requestText = (apiKey: string, key: string, connection: string): string =>
  [
    `POST ${PATH} HTTP/1.1`,
    'host: a',
    `x-service-api-key: ${apiKey}`,
    `x-idempotency-key: ${key}`,
    'content-type: application/json',
    `content-length: ${BODY.length}`,
    `connection: ${connection}`,
    '',
    BODY,
  ].join('\r\n');

interface Load {
  readonly ahead: number;
  readonly keepAlive: boolean;
}

/** Burns over one connection after another, with this many requests in progress, until nobody listens. */
async function load(url: string, apiKey: string, { ahead, keepAlive }: Load, all: Sent[]): Promise<void> {
  const client = new Client(url, { pipelining: ahead });
  const headers = { 'x-service-api-key': apiKey, 'content-type': 'application/json' };
  let isOver = false;
  const inTurn = async (): Promise<void> => {
    while (!isOver) {
      const sent: Sent = { key: randomUUID(), outcome: undefined };
      all.push(sent);
      try {
        const { statusCode, body } = await client.request({
          ...{ method: 'POST', path: PATH, body: BODY, idempotent: true, reset: !keepAlive },
          headers: { ...headers, 'x-idempotency-key': sent.key },
        });
        await body.dump();
        sent.outcome = statusCode;
      } catch (error) {
        sent.outcome = (error as NodeJS.ErrnoException).code ?? String(error);
        isOver = sent.outcome === 'ECONNREFUSED';
      }
    }
  };
  await Promise.all(Array.from({ length: ahead }, inTurn));
  await client.close();
}

const LOADS = [
  ['one connection a request', { ahead: 1, keepAlive: false }],
  ['on connections that stay open', { ahead: 1, keepAlive: true }],
  ['several requests at once on a connection', { ahead: 3, keepAlive: true }],
] as const;
const CLIENTS = isLong ? 12 : 4;

describe('flywheel serve under load', () => {
  let home: ServedHome;

  beforeAll(async () => {
    home = await initHome();
  });
  afterEach(killServers);
  const start = (...words: string[]): Promise<ServeProcess> =>
    serve(home, '--rate', 'burn=100000/s', '--log-level', 'error', ...words);
  const burned = async (): Promise<number> => {
    const { stdout } = await besides(home, 'local', 'status', '--json');
    return Number((JSON.parse(stdout) as { burned: string }).burned);
  };
  const replay = async (server: ServeProcess, keys: readonly string[]): Promise<void> => {
    for (const idempotencyKey of keys) {
      const response = await ask(server.url + PATH, home.key, { body: BURN, idempotencyKey });
      expect([idempotencyKey, response.status]).toEqual([idempotencyKey, 200]);
    }
  };

  it.each(sampleOf(LOADS, 1))('answers what was sent before a SIGTERM, %s', async (_name, options) => {
    const before = await burned();
    const server = await start('--shutdown-grace', '20');
    const clients = Array.from({ length: CLIENTS }, (): Sent[] => []);
    const loads = clients.map((sent) => load(server.url, home.key, options, sent));
    while (clients.some((sent) => sent.filter(({ outcome }) => outcome === 200).length < 3)) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    const ended = await server.end('SIGTERM');
    await Promise.all(loads);
    expect(ended).toEqual({ exit: 0, signal: null });

    const sent = clients.flat();
    // Requests pipelined behind an answer that closes its connection have no guarantee (RFC 9112, section 9.6).
    const cutOff = options.ahead === 1 ? [] : ['UND_ERR_SOCKET'];
    const good = [200, 503, 'ECONNREFUSED', ...cutOff];
    expect(sent.filter(({ outcome = '' }) => !good.includes(outcome))).toEqual([]);

    const done = sent.filter(({ outcome }) => outcome === 200).map(({ key }) => key);
    const others = sent.filter(({ outcome }) => outcome !== 200).map(({ key }) => key);
    expect((await burned()) - before).toBeGreaterThanOrEqual(done.length);
    const second = await start();
    await replay(second, done);
    await replay(second, others);
    expect((await burned()) - before).toBe(sent.length);
  });
});

describe('closeGracefully', () => {
  const BURN_REQUEST = (id: string): string =>
    requestText(GOOD_KEY, id, 'keep-alive').replace('host: a', `host: a\r\nx-request-id: ${id}`);

  const idleConnection = async () => {
    const fake = fakeService();
    const server = await startServer({ service: fake.service }, { limits: { drainIdleMs: 400 } });
    const socket = connect(server.port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
    });
    const ended = new Promise<string>((resolve) =>
      socket.once('close', (failed) => resolve(failed ? 'reset' : 'closed')),
    );
    socket.write(BURN_REQUEST('first'));
    while (parseAnswers(received).length < 1) await new Promise((resolve) => setImmediate(resolve));
    return { fake, server, socket, ended, answers: () => parseAnswers(received) };
  };

  it('answers a request that is on its way to a connection that seems idle', async () => {
    const { fake, server, socket, ended, answers } = await idleConnection();
    const closed = server.closeGracefully(10_000);
    socket.write(BURN_REQUEST('second'));
    expect([await ended, await closed]).toEqual(['closed', true]);
    const [, second] = answers();
    expect([second?.headers['x-request-id'], second?.headers['connection']]).toEqual(['second', 'close']);
    // The request arrived before the last connection was accepted and was executed, or it can be repeated.
    expect(second?.status === 200 ? 2 : 1).toBe(fake.calls.length);
    if (second?.status !== 200) expect([second?.status, second?.headers['retry-after']]).toEqual([503, '1']);
  });

  it('tells a request that comes during the shutdown to come again', async () => {
    const { fake, server, socket, ended, answers } = await idleConnection();
    const closed = server.closeGracefully(10_000);
    while (await canConnect(server.port)) await setTimeout(5);
    socket.write(BURN_REQUEST('second'));
    expect([await ended, await closed]).toEqual(['closed', true]);
    const [, second] = answers();
    expect([second?.status, second?.headers['retry-after'], second?.headers['connection']]).toEqual([
      503,
      '1',
      'close',
    ]);
    expect(fake.calls).toHaveLength(1);
  });

  it('lets the rest of a body come in behind the answer that ends the connection', async () => {
    const { server, socket, ended, answers } = await idleConnection();
    const body = 'x'.repeat(3_000_000);
    const head = requestText('nobody', 'second', 'close').replace(/content-length: \d+[\s\S]*$/, '');
    socket.write(`${head}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
    expect(await ended).toBe('closed');
    expect(answers().map(({ status }) => status)).toEqual([200, 401]);
    await server.closeGracefully(1_000);
  });
});
