/** `flywheel serve` that stops under load: every sent request gets its answer, and nothing burns twice. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
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

/** The HTTP status of a request, or the end of its connection; `refused` requests were never sent. */
type Outcome = number | 'refused' | 'reset' | 'ended';

interface Sent {
  readonly key: string;
  outcome: Outcome | undefined;
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

/** A client that opens one connection after another, with this many requests in progress. */
class LoadClient {
  readonly sent: Sent[] = [];
  readonly #port: number;
  readonly #apiKey: string;
  readonly #options: { readonly ahead: number; readonly keepAlive: boolean };
  #waiting: Sent[] = [];
  #isStopped = false;

  constructor(
    port: number,
    apiKey: string,
    options: { readonly ahead: number; readonly keepAlive: boolean },
  ) {
    this.#port = port;
    this.#apiKey = apiKey;
    this.#options = options;
  }

  async run(): Promise<void> {
    while (!this.#isStopped) await this.#oneConnection();
  }

  #oneConnection(): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect(this.#port, '127.0.0.1');
      let received = '';
      const end = (outcome: Outcome): void => {
        for (const sent of this.#waiting.splice(0)) sent.outcome = outcome;
        socket.destroy();
        resolve();
      };
      socket.once('connect', () => this.#send(socket));
      socket.on('data', (chunk: Buffer) => {
        received += chunk.toString('latin1');
        for (let answer = cutAnswer(received); answer !== undefined; answer = cutAnswer(received)) {
          received = answer.rest;
          const sent = this.#waiting.shift();
          if (sent !== undefined) sent.outcome = answer.status;
          if (!answer.isLast) this.#send(socket);
        }
      });
      socket.once('end', () => end('ended'));
      socket.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNREFUSED') this.#isStopped = true;
        end(error.code === 'ECONNREFUSED' ? 'refused' : 'reset');
      });
    });
  }

  #send(socket: Socket): void {
    const { ahead, keepAlive } = this.#options;
    while (this.#waiting.length < ahead) {
      const sent: Sent = { key: randomUUID(), outcome: undefined };
      this.sent.push(sent);
      this.#waiting.push(sent);
      socket.write(requestText(this.#apiKey, sent.key, keepAlive ? 'keep-alive' : 'close'));
      if (!keepAlive) return;
    }
  }
}

function cutAnswer(text: string): { status: number; isLast: boolean; rest: string } | undefined {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return undefined;
  const headers = text.slice(0, head).toLowerCase();
  const end = head + 4 + Number(/content-length: (\d+)/.exec(headers)?.[1] ?? 0);
  if (text.length < end) return undefined;
  return {
    status: Number(headers.split(' ')[1]),
    isLast: /connection: close/.test(headers),
    rest: text.slice(end),
  };
}

const LOADS = [
  ['one connection a request', { ahead: 1, keepAlive: false }],
  ['on connections that stay open', { ahead: 1, keepAlive: true }],
  ['several requests at once on a connection', { ahead: 3, keepAlive: true }],
] as const;
const CLIENTS = isLong ? 12 : 6;

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
    const port = Number(new URL(server.url).port);
    const clients = Array.from({ length: CLIENTS }, () => new LoadClient(port, home.key, options));
    const load = clients.map((client) => client.run());
    while (clients.some(({ sent }) => sent.filter(({ outcome }) => outcome === 200).length < 3)) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    const ended = await server.end('SIGTERM');
    await Promise.all(load);
    expect(ended).toEqual({ exit: 0, signal: null });

    const sent = clients.flatMap((client) => client.sent);
    const withOutcome = (...outcomes: Outcome[]) =>
      sent.filter(({ outcome }) => outcome !== undefined && outcomes.includes(outcome));
    expect(withOutcome('reset')).toEqual([]);
    expect(sent.filter(({ outcome }) => outcome === undefined)).toEqual([]);
    // Requests pipelined behind an answer that closes its connection have no guarantee (RFC 9112, section 9.6).
    if (options.ahead === 1) expect(withOutcome('ended')).toEqual([]);

    const done = withOutcome(200).map(({ key }) => key);
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
    while (await canConnect(server.port)) await new Promise((resolve) => setImmediate(resolve));
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
