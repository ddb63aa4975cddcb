/** Requests that two parsers may read differently, and connections that exhaust the server. */
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  EXAMPLES,
  exampleReply,
  type FakeService,
  FlywheelError,
  fakeService,
  GOOD_KEY,
} from '../support/fake-service.js';
import { type RunningServer, startServer } from '../support/http.js';
import { parseAnswers, type RawAnswer, sendRaw } from '../support/http-raw.js';

const BODY = JSON.stringify(EXAMPLES.burn.request);
const KEY = `x-service-api-key: ${GOOD_KEY}`;
const JSON_TYPE = 'content-type: application/json';
const request = (method: string, path: string, lines: readonly string[], body = ''): string =>
  [`${method} ${path} HTTP/1.1`, ...lines, '', body].join('\r\n');
const burn = (lines: readonly string[], body = BODY): string =>
  request('POST', '/v1/tokenomics/burn', lines, body);
const current = (lines: readonly string[]): string => request('GET', '/v1/flywheel/batch/current', lines);
const CHUNKED_BODY = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;

describe('a request that could be read in two ways', () => {
  let fake: FakeService;
  let server: RunningServer;

  beforeEach(async () => {
    fake = fakeService();
    server = await startServer({ service: fake.service }, { bearer: true });
  });
  afterEach(async () => {
    await server.closeGracefully(1_000);
  });

  it.each([
    ['no host', current([KEY])],
    ['two hosts', current(['host: a', 'Host: b', KEY])],
    ['the same host twice', current(['host: a', 'host: a', KEY])],
    [
      'two media types',
      burn(['host: a', KEY, JSON_TYPE, 'Content-Type: text/plain', `content-length: ${BODY.length}`]),
    ],
    [
      'two lengths that agree',
      burn(['host: a', KEY, JSON_TYPE, `content-length: ${BODY.length}`, `content-length: ${BODY.length}`]),
    ],
    [
      'a list of lengths',
      burn(['host: a', KEY, JSON_TYPE, `content-length: ${BODY.length}, ${BODY.length}`]),
    ],
    [
      'a compressed transfer',
      burn(['host: a', KEY, JSON_TYPE, 'transfer-encoding: gzip, chunked'], CHUNKED_BODY),
    ],
    [
      'a transfer chunked twice',
      burn(['host: a', KEY, JSON_TYPE, 'transfer-encoding: chunked, chunked'], CHUNKED_BODY),
    ],
    [
      'two transfer codings',
      burn(
        ['host: a', KEY, JSON_TYPE, 'transfer-encoding: chunked', 'transfer-encoding: identity'],
        CHUNKED_BODY,
      ),
    ],
    [
      'a length and a transfer coding',
      burn(
        ['host: a', KEY, JSON_TYPE, `content-length: ${BODY.length}`, 'transfer-encoding: chunked'],
        CHUNKED_BODY,
      ),
    ],
    [
      'two authorizations',
      current(['host: a', `authorization: Bearer ${GOOD_KEY}`, 'authorization: Bearer nobody']),
    ],
  ])('is refused, with %s', async (_name, text) => {
    const [answer, ...more] = await sendRaw(server.port, text);
    expect(more).toEqual([]);
    expect([answer?.status, answer?.headers['content-type'], answer?.headers['connection']]).toEqual([
      400,
      'application/json; charset=utf-8',
      'close',
    ]);
    expect(answer?.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(JSON.parse(answer?.body ?? '')).toEqual({
      error: 'ERR_INVALID_REQUEST',
      message: expect.any(String),
    });
    expect(fake.calls).toEqual([]);
  });

  it('is not refused for what is plain', async () => {
    const close = 'connection: close';
    const statuses = await Promise.all(
      [
        burn(['host: a', KEY, JSON_TYPE, `content-length: ${BODY.length}`, close]),
        burn(['host: a', KEY, JSON_TYPE, 'transfer-encoding: chunked', close], CHUNKED_BODY),
        burn(['host: a', KEY, JSON_TYPE, 'Transfer-Encoding: Chunked', close], CHUNKED_BODY),
        current(['host: a', KEY, close]),
        current(['host:', KEY, close]),
        current([KEY, close]).replace('HTTP/1.1', 'HTTP/1.0'),
      ].map(async (text) => (await sendRaw(server.port, text))[0]?.status),
    );
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200]);
  });

  it.each([201, 5_000])('is refused, with an id of %i characters in its path', async (length) => {
    const path = `/v1/flywheel/batch/${'a'.repeat(length)}`;
    const [without] = await sendRaw(server.port, request('GET', path, ['host: a', 'connection: close']));
    expect(without?.status).toBe(401);
    const [answer] = await sendRaw(server.port, request('GET', path, ['host: a', KEY, 'connection: close']));
    expect([answer?.status, JSON.parse(answer?.body ?? '{}')]).toEqual([
      400,
      { error: 'ERR_INVALID_REQUEST', message: 'An id in the path has at most 200 characters.' },
    ]);
    expect(answer?.headers['ratelimit-policy']).toBeDefined();
    expect(fake.calls).toEqual([]);
  });

  it('and what comes behind requests that still run: their answers come first, and are theirs', async () => {
    let finish = (): void => undefined;
    fake.answer(
      'burn',
      () =>
        new Promise((resolve) => {
          finish = () => resolve(exampleReply('burn'));
        }),
    );
    const answers = sendRaw(
      server.port,
      burn(['host: a', KEY, JSON_TYPE, `content-length: ${BODY.length}`]),
      'this is not HTTP\r\n\r\n',
    );
    while (fake.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    finish();
    expect((await answers).map(({ status }) => status)).toEqual([200, 400]);
  });

  it('breaks off in its body: the answer is its own, in its turn', async () => {
    const broken = burn(
      ['host: a', 'x-request-id: mine', KEY, JSON_TYPE, 'transfer-encoding: chunked'],
      '5\r\n{"typ\r\nzz\r\n',
    );
    const answers = await sendRaw(server.port, current(['host: a', KEY]) + broken);
    expect(
      answers.map(({ status, headers }) => [
        status,
        headers['x-request-id'] === 'mine',
        headers['connection'],
      ]),
    ).toEqual([
      [200, false, 'keep-alive'],
      [400, true, 'close'],
    ]);
    const lines = server.logLines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter((line) => line['requestId'] === 'mine' && line['msg'] === 'answered')).toHaveLength(
      1,
    );
    expect(lines.filter((line) => line['msg'] === 'not HTTP')).toEqual([]);
  });

  it('tells the log what the store suffers from, and the client only that it is out of reach', async () => {
    const reasons = [
      'is not a database, or is damaged',
      'is damaged',
      'cannot grow: the disk is full',
      'cannot be read or written: the disk reports an error',
    ];
    for (const reason of reasons) {
      const cause = new FlywheelError('ERR_STORE_UNAVAILABLE', `The store /data/store.db ${reason}.`);
      for (const thrown of [
        cause,
        new FlywheelError('ERR_BATCH_INIT_FAILED', 'Inside.', { cause }),
        new Error('wrapped', { cause }),
      ]) {
        fake.answer('initBatch', () => Promise.reject(thrown));
        server.logLines.length = 0;
        const response = await fetch(`${server.url}/v1/flywheel/batch/init`, {
          method: 'POST',
          body: '{}',
          headers: { 'x-service-api-key': GOOD_KEY, 'content-type': 'application/json' },
        });
        expect([response.status, response.headers.get('retry-after'), await response.json()]).toEqual([
          503,
          '1',
          { error: 'ERR_UNAVAILABLE', message: 'The store cannot be reached.' },
        ]);
        expect(server.logLines.join('')).toContain(reason);
        expect(server.logLines.join('')).toContain('"code":"ERR_STORE_UNAVAILABLE"');
      }
    }
  });
});

describe('connections on which nothing happens', () => {
  const MAX = 8;
  let fake: FakeService;
  let server: RunningServer;
  const sockets: Client[] = [];

  interface Client {
    readonly socket: Socket;
    readonly answers: () => readonly RawAnswer[];
    readonly isClosed: () => boolean;
  }

  beforeEach(async () => {
    fake = fakeService();
    server = await startServer({ service: fake.service }, { limits: { maxConnections: MAX } });
  });
  afterEach(async () => {
    for (const { socket } of sockets.splice(0)) socket.destroy();
    await server.closeGracefully(1_000);
  });

  const dial = (): Client => {
    const socket = connect(server.port, '127.0.0.1');
    let received = '';
    let closed = false;
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
    });
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      closed = true;
    });
    const client = { socket, answers: () => parseAnswers(received), isClosed: () => closed };
    sockets.push(client);
    return client;
  };
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise((resolve) => setImmediate(resolve));
  };
  const asked = async (client: Client): Promise<Client> => {
    client.socket.write(current(['host: a', KEY]));
    const count = client.answers().length;
    await until(() => client.answers().length > count || client.isClosed());
    return client;
  };

  it('are closed when there are more than may be, and the others are served', async () => {
    const first: Client[] = [];
    for (let count = 0; count < MAX; count += 1) first.push(await asked(dial()));
    const more = Array.from({ length: 3 }, dial);
    await until(() => more.every((client) => client.isClosed()));
    expect((await asked(first[0] as Client)).answers().map(({ status }) => status)).toEqual([200, 200]);
    first[1]?.socket.destroy();
    await until(() => first[1]?.isClosed() === true);
    expect((await asked(dial())).answers().map(({ status }) => status)).toEqual([200]);
  });

  it('go before any whose request is being worked on', async () => {
    const finish: (() => void)[] = [];
    fake.answer(
      'burn',
      () => new Promise((resolve) => void finish.push(() => resolve(exampleReply('burn')))),
    );
    const working = Array.from({ length: MAX }, dial);
    for (const { socket } of working)
      socket.write(burn(['host: a', KEY, JSON_TYPE, `content-length: ${BODY.length}`]));
    await until(() => finish.length === MAX);
    const late = dial();
    await until(() => late.isClosed());
    for (const end of finish) end();
    await until(() => working.every((client) => client.answers().length === 1));
    expect(working.map((client) => client.answers()[0]?.status)).toEqual(
      Array.from({ length: MAX }, () => 200),
    );
  });
});
