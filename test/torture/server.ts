/**
 * The server over a real engine among clients that leave, repeat, break off and talk nonsense: each request ends once, nothing
 * runs on for ever, each key burns once, and a restart in the middle changes none of that.
 */
import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { Agent, request } from 'undici';
import type { Random } from '../fuzz/random.js';
import { openTestEngine, type TestEngine } from '../support/engine.js';
import { type RunningServer, startServer } from '../support/http.js';
import { supplyOf } from '../support/service.js';
import type { OpenTorture, TorturePart } from './part.js';

const UNIT = 1_000_000n;
const CLIENTS = 24;
const PATH = '/v1/tokenomics/burn';
const BODY = JSON.stringify({
  type: 'PRODUCT_BUY',
  proof: { torture: true },
  burnAmount: 1,
  persistOnchain: false,
});
const PATIENCE_MS = 30_000;
/** Keys that are brought once more at a time, on as many connections, which are kept. */
const AT_ONCE = 4;

/** Ways to leave a connection. */
const LEAVING: readonly ((socket: Socket) => void)[] = [
  (socket) => void socket.destroySoon(),
  (socket) => void socket.resetAndDestroy(),
  (socket) => void socket.end(),
];

const NONSENSE: readonly string[] = [
  'hello\r\n\r\n',
  'GET / HTTP/9.9\r\n\r\n',
  'GET /healthz HTTP/1.1\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n',
  `POST ${PATH} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n`,
  'OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n',
  '\u0000\u0001\u0002\r\n\r\n',
];

/** One burn under a key, as bytes; some are cut short, some come in chunks. */
function burnBytes(apiKey: string, key: string, random: Random): string {
  const lines = [
    `POST ${PATH} HTTP/1.1`,
    'host: a',
    `x-service-api-key: ${apiKey}`,
    `x-idempotency-key: ${key}`,
    'content-type: application/json',
  ];
  const whole = random.oneIn(3)
    ? [
        ...lines,
        'transfer-encoding: chunked',
        '',
        `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`,
      ].join('\r\n')
    : [...lines, `content-length: ${BODY.length}`, '', BODY].join('\r\n');
  return random.oneIn(4) ? whole.slice(0, random.below(whole.length)) : whole;
}

class ServerTorture implements OpenTorture {
  readonly #opened: TestEngine;
  readonly #agent = new Agent({ connections: AT_ONCE });
  readonly #keys: string[] = [];
  readonly #startSupply: bigint;
  #server: RunningServer;

  constructor(opened: TestEngine, server: RunningServer, startSupply: bigint) {
    this.#opened = opened;
    this.#server = server;
    this.#startSupply = startSupply;
  }

  async round(random: Random): Promise<void> {
    const clients = Array.from({ length: CLIENTS }, () => this.#client(random));
    const restarts = random.oneIn(5);
    if (restarts) await this.#restart(random);
    await Promise.all(clients);
    if (!restarts) await this.#isQuiet();
    await this.#settleKeys(random);
  }

  async close(): Promise<void> {
    await this.#agent.close();
    await this.#server.closeGracefully(5_000);
    await this.#opened.destroy();
  }

  /** One connection with some requests on it, left at some time in some way. */
  async #client(random: Random): Promise<void> {
    const socket = connect(this.#server.port, '127.0.0.1');
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => socket.destroy());
    if (random.oneIn(2)) socket.resume();
    for (let requests = random.below(4); requests > 0; requests -= 1) socket.write(this.#text(random));
    for (let turns = random.below(40); turns > 0; turns -= 1) await new Promise((done) => setImmediate(done));
    random.pick(LEAVING)(socket);
    socket.resume();
    const patience = setTimeout(() => socket.destroy(), PATIENCE_MS).unref();
    await closed;
    clearTimeout(patience);
  }

  #text(random: Random): string {
    if (random.oneIn(6)) return random.pick(NONSENSE);
    const known = this.#keys.length > 0 && random.oneIn(3) ? random.pick(this.#keys) : undefined;
    const key = known ?? randomUUID();
    if (known === undefined) this.#keys.push(key);
    return burnBytes(this.#opened.project.key.reveal(), key, random);
  }

  async #restart(random: Random): Promise<void> {
    await this.#server.closeGracefully(random.pick([0, 50, 5_000]));
    this.#server = await serve(this.#opened);
  }

  /** Nothing runs, no connection is left but this program's own, and every request has one line. */
  async #isQuiet(): Promise<void> {
    const untilMs = performance.now() + PATIENCE_MS;
    const gauge = async (name: string): Promise<number> => {
      const { text } = await this.#ask('GET', '/metrics');
      return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
    };
    while (
      (await gauge('flywheel_http_requests_running')) > 0 ||
      (await gauge('flywheel_http_connections')) > AT_ONCE
    ) {
      assert(performance.now() < untilMs, 'A request or a connection is left behind.');
    }
    assert.equal(await gauge('flywheel_http_held_bytes'), 0, 'Memory of a body is not given back.');
    const ids = this.#server.logLines
      .map((line) => JSON.parse(line) as { requestId?: string; durationMs?: number })
      .filter(({ durationMs }) => durationMs !== undefined)
      .map(({ requestId }) => requestId);
    assert.equal(new Set(ids).size, ids.length, 'A request has two lines in the log.');
  }

  async #ask(method: 'GET' | 'POST', path: string, key?: string): Promise<{ status: number; text: string }> {
    const burn = {
      body: BODY,
      headers: {
        'x-service-api-key': this.#opened.project.key.reveal(),
        'x-idempotency-key': key ?? '',
        'content-type': 'application/json',
      },
    };
    const { statusCode, body } = await request(this.#server.url + path, {
      method,
      dispatcher: this.#agent,
      ...(key === undefined ? {} : burn),
    });
    return { status: statusCode, text: await body.text() };
  }

  /** Every key is brought once more, as a careful client does, and has burned once then. */
  async #settleKeys(random: Random): Promise<void> {
    const keys = random.shuffled(this.#keys);
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let key = keys.pop(); key !== undefined; key = keys.pop()) await this.#burnAgain(key);
      }),
    );
    const { project } = this.#opened;
    const burned = this.#startSupply - (await supplyOf({ test: this.#opened }, project));
    assert.equal(burned, BigInt(this.#keys.length) * UNIT, 'A key has burned more than once, or not at all.');
  }

  async #burnAgain(key: string): Promise<void> {
    const untilMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const { status, text } = await this.#ask('POST', PATH, key);
      if (status === 200) return;
      assert([409, 503].includes(status), `${status} ${text}`);
      assert(performance.now() < untilMs, `A key cannot be used any more: ${text}`);
    }
  }
}

const serve = (opened: TestEngine): Promise<RunningServer> =>
  startServer(
    { service: opened.engine, authenticate: (credential) => opened.engine.authenticate(credential) },
    {
      limits: {
        requestTimeoutMs: 2_000,
        headersTimeoutMs: 1_000,
        answerTimeoutMs: 2_000,
        maxConnections: 64,
      },
    },
  );

/** Clients of a server that none of them may stop. */
export const tortureServer: TorturePart = {
  of: `${CLIENTS} clients`,
  async open() {
    const opened = await openTestEngine();
    const startSupply = await supplyOf({ test: opened }, opened.project);
    return new ServerTorture(opened, await serve(opened), startSupply);
  },
};
