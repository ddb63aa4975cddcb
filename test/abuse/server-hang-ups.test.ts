/** Clients that disconnect: each request ends once, and frees its place for others. */

import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Random } from '../fuzz/random.js';
import { EXAMPLES, exampleReply, type FakeService, fakeService, GOOD_KEY } from '../support/fake-service.js';
import { type RunningServer, startServer } from '../support/http.js';
import { isLong } from '../support/long.js';

const BURN = JSON.stringify(EXAMPLES.burn.request);
/** More than the system buffers for an unread socket. */
const LARGE_ANSWER = { note: 'x'.repeat(8_000_000) };
/** Waves of twenty clients. */
const WAVES = isLong ? 15 : 1;

const asked = (id: string, line: string, ...more: readonly string[]): string =>
  [`${line} HTTP/1.1`, 'host: a', `x-service-api-key: ${GOOD_KEY}`, `x-request-id: ${id}`, ...more].join(
    '\r\n',
  );
const burn = (id: string): string =>
  asked(
    id,
    'POST /v1/tokenomics/burn',
    'content-type: application/json',
    `content-length: ${BURN.length}`,
    '',
    BURN,
  );
const current = (id: string): string => asked(id, 'GET /v1/flywheel/batch/current', '', '');

/** Ways to disconnect: both directions with FIN, with RST, or half-closed. */
const LEAVING = {
  close: (socket: Socket) => void socket.destroySoon(),
  reset: (socket: Socket) => void socket.resetAndDestroy(),
  fin: (socket: Socket) => void socket.end(),
} as const;
type Leaving = keyof typeof LEAVING;

describe('a client that hangs up', () => {
  let fake: FakeService;
  let server: RunningServer;
  let finish: (() => void)[];
  const sockets: Socket[] = [];
  /** One connection without a timeout. */
  let asking: Agent;

  beforeEach(async () => {
    fake = fakeService();
    finish = [];
    asking = new Agent({ connections: 1 });
    fake.answer(
      'burn',
      () => new Promise((resolve) => void finish.push(() => resolve(exampleReply('burn')))),
    );
    server = await startServer(
      { service: fake.service },
      { limits: { maxRunning: 4, requestTimeoutMs: 5_000, answerTimeoutMs: 1_000 } },
    );
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    for (const end of finish.splice(0)) end();
    await asking.close();
    await server.closeGracefully(1_000);
  });

  const dial = (): Socket => {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => socket.destroy());
    socket.pause();
    sockets.push(socket);
    return socket;
  };
  const linesOf = (id: string) =>
    server.logLines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => line['requestId'] === id && line['durationMs'] !== undefined);
  const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
    while (!(await condition())) await setTimeout(5);
  };
  const metric = async (pattern: RegExp): Promise<number> => {
    const answer = await request(`${server.url}/metrics`, { dispatcher: asking });
    const text = await answer.body.text();
    const lines = text.split('\n').filter((line) => pattern.test(line));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };
  const running = () => metric(/^flywheel_http_requests_running /);
  /** Includes the connection that asks. */
  const connections = () => metric(/^flywheel_http_connections /);
  const burnsCounted = () => metric(/^flywheel_http_requests_total\{operation="burn"/);

  it.each(Object.keys(LEAVING) as Leaving[])(
    'by %s during its burn leaves a burn that is finished, one line and one count, and no place taken',
    async (leaving) => {
      const id = randomUUID();
      const socket = dial();
      socket.write(burn(id));
      await until(() => finish.length === 1);
      LEAVING[leaving](socket);
      await until(async () => (await connections()) === 1);
      expect(await running()).toBe(1);
      expect(linesOf(id)).toEqual([]);
      finish[0]?.();
      await until(() => linesOf(id).length > 0);
      expect(await running()).toBe(0);
      expect(linesOf(id)).toHaveLength(1);
      expect(await burnsCounted()).toBe(1);
      expect(await metric(/^flywheel_burns_total\{result="success"\}/)).toBe(1);
    },
  );

  it('does not keep health, readiness and metrics from answering when the service is full', async () => {
    const full = Array.from({ length: 4 }, () => dial());
    for (const socket of full) socket.write(burn(randomUUID()));
    await until(() => finish.length === 4);
    const over = await fetch(`${server.url}/v1/flywheel/batch/current`, {
      headers: { 'x-service-api-key': GOOD_KEY },
    });
    expect([over.status, over.headers.get('retry-after')]).toEqual([503, '1']);
    expect(over.headers.get('ratelimit-policy')).toMatch(/^"batch-current";q=/);
    for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json']) {
      expect([path, (await fetch(server.url + path)).status]).toEqual([path, 200]);
    }
  });

  it('while its body is still on its way does not take a place of the service', async () => {
    for (let count = 0; count < 8; count += 1) {
      dial().write(burn(randomUUID()).slice(0, -10));
    }
    fake.answer('burn', () => exampleReply('burn'));
    const response = await fetch(`${server.url}/v1/tokenomics/burn`, {
      method: 'POST',
      body: BURN,
      headers: { 'x-service-api-key': GOOD_KEY, 'content-type': 'application/json' },
    });
    expect(response.status).toBe(200);
  });

  it('at any stage, among many, leaves one line and one count for each request and nothing running', async () => {
    const random = new Random(20_261);
    fake.answer('currentBatch', () => ({ value: LARGE_ANSWER, meta: { replayed: false } }));
    fake.answer('burn', async () => {
      await new Promise((resolve) => void setImmediate(resolve));
      return exampleReply('burn');
    });
    const begun: string[] = [];
    const begin = (socket: Socket, text: (id: string) => string): void => {
      const id = randomUUID();
      begun.push(id);
      socket.write(text(id));
    };
    const stages: readonly ((socket: Socket) => void)[] = [
      () => undefined,
      (socket) => void socket.write('POST /v1/tokenomics/burn HTTP/1.1\r\nhost: a\r\n'),
      (socket) => begin(socket, (id) => burn(id).slice(0, -BURN.length)),
      (socket) => begin(socket, (id) => burn(id).slice(0, -5)),
      (socket) => begin(socket, burn),
      (socket) => begin(socket, current),
      (socket) => {
        begin(socket, current);
        begin(socket, burn);
        begin(socket, (id) => burn(id).slice(0, -5));
      },
      (socket) => {
        begin(socket, burn);
        socket.resume();
      },
    ];
    const oneClient = async (): Promise<void> => {
      const socket = dial();
      random.pick(stages)(socket);
      for (let turn = random.below(6); turn > 0; turn -= 1)
        await new Promise((resolve) => setImmediate(resolve));
      LEAVING[random.pick(Object.keys(LEAVING) as Leaving[])](socket);
    };
    for (let wave = 0; wave < WAVES; wave += 1) await Promise.all(Array.from({ length: 20 }, oneClient));
    // A request that the server never read does not count; all others have ended.
    await until(async () => (await connections()) === 1);
    expect(await running()).toBe(0);
    const ended = begun.filter((id) => linesOf(id).length > 0);
    expect(ended.filter((id) => linesOf(id).length > 1)).toEqual([]);
    expect(ended.length).toBeGreaterThan(WAVES * 6);
    const counted = await metric(/^flywheel_http_requests_total\{operation="(burn|currentBatch)"/);
    expect(counted).toBe(ended.length);
  });
});
