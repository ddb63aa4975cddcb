/** Requests that no client sends, or that two parsers may read differently, and connections that exhaust the server. */
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
const LENGTH = `content-length: ${BODY.length}`;
const CHUNKED = 'transfer-encoding: chunked';
const CHUNKED_BODY = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
const CLOSE = 'connection: close';
const MAX_HEADER_LINES = 256;

const request = (method: string, path: string, lines: readonly string[], body = ''): string =>
  [`${method} ${path} HTTP/1.1`, ...lines, '', body].join('\r\n');
const get = (path: string, ...lines: readonly string[]): string =>
  request('GET', path, ['host: a', KEY, ...lines]);
const current = (...lines: readonly string[]): string => get('/v1/flywheel/batch/current', ...lines);
const burn = (lines: readonly string[], body = BODY): string =>
  request('POST', '/v1/tokenomics/burn', ['host: a', KEY, 'content-type: application/json', ...lines], body);
const without = (text: string, line: string): string => text.replace(`${line}\r\n`, '');

describe('a request', () => {
  let fake: FakeService;
  let server: RunningServer;

  beforeEach(async () => {
    fake = fakeService();
    const limits = { maxHeaderBytes: 4_096, headersTimeoutMs: 300, requestTimeoutMs: 500 };
    server = await startServer({ service: fake.service }, { bearer: true, limits });
  });
  afterEach(async () => {
    await server.closeGracefully(1_000);
  });

  /** It has one answer, in the shape of every error, and ends its connection. */
  const refused = async (raw: string | Buffer, status = 400): Promise<void> => {
    const [answer, ...more] = await sendRaw(server.port, raw);
    expect(more).toEqual([]);
    expect([answer?.status, answer?.headers]).toMatchObject([
      status,
      {
        ...{ 'content-type': 'application/json; charset=utf-8', connection: 'close' },
        'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
    ]);
    expect(Object.keys(JSON.parse(answer?.body ?? ''))).toEqual(['error', 'message']);
    expect(fake.calls).toEqual([]);
  };

  it.each([
    ['not HTTP', 'hello\r\n\r\n'],
    ['a TLS hello', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])],
    ['HTTP/9.9', 'GET / HTTP/9.9\r\n\r\n'],
    ['a bad header name', current('x y: 1')],
    ['a line break inside a header', current('x: a\nb: c\rd')],
    ['a NUL in a header', current('x: a\0b')],
    ['obsolete line folding', current('x: a', ' folded')],
    ['an unknown expectation', burn(['expect: a-miracle', LENGTH])],
    ['a negative length', burn(['content-length: -1'], '')],
    ['a length that is not a number', burn(['content-length: 1e3'], '')],
    ['no host', without(current(), 'host: a')],
    ['two hosts', current('Host: b')],
    ['the same host twice', current('host: a')],
    ['two media types', burn(['Content-Type: text/plain', LENGTH])],
    ['two keys of idempotency', burn(['x-idempotency-key: a', 'x-idempotency-key: b', LENGTH, CLOSE])],
    ['two lengths that agree', burn([LENGTH, LENGTH])],
    ['a list of lengths', burn([`${LENGTH}, ${BODY.length}`])],
    ['a compressed transfer', burn(['transfer-encoding: gzip, chunked'], CHUNKED_BODY)],
    ['a transfer chunked twice', burn(['transfer-encoding: chunked, chunked'], CHUNKED_BODY)],
    ['two transfer codings', burn([CHUNKED, 'transfer-encoding: identity'], CHUNKED_BODY)],
    ['a length and a transfer coding', burn([LENGTH, CHUNKED], CHUNKED_BODY)],
    [
      'two authorizations',
      without(current(`authorization: Bearer ${GOOD_KEY}`, 'authorization: Bearer nobody'), KEY),
    ],
    // Node.js reads no more lines than that; the last may change what the request means.
    ...['host: b', 'x-idempotency-key: 5f0a', 'content-encoding: gzip'].flatMap((line) =>
      [1_100, MAX_HEADER_LINES - 4].map((count): [string, string] => [
        `${line} behind ${count} lines`,
        burn([LENGTH, ...Array(count).fill('a:'), line]),
      ]),
    ),
  ])('is refused with 400 and closed: %s', async (_name, raw) => {
    await refused(raw);
  });

  it('is refused with 431 over the limit of header lines, with 408 where it does not arrive', async () => {
    await refused(current(`x: ${'a'.repeat(5_000)}`), 431);
    await refused(get(`/v1/flywheel/batch/${'a'.repeat(5_000)}`), 431);
    await refused('GET /v1/flywheel/batch/current HTTP/1.1\r\nhost: a\r\n', 408);
    await refused(burn(['content-length: 100'], '{"type"'), 408);
  });

  it('is not refused for what is plain, with as many header lines as may be', async () => {
    for (const text of [
      ...[burn([LENGTH, CLOSE]), burn([CHUNKED, CLOSE], CHUNKED_BODY)],
      burn(['Transfer-Encoding: Chunked', CLOSE], CHUNKED_BODY),
      current(CLOSE).replace('host: a', 'host:'),
      without(current(CLOSE), 'host: a').replace('HTTP/1.1', 'HTTP/1.0'),
    ])
      expect((await sendRaw(server.port, text)).map(({ status }) => status)).toEqual([200]);
    const lines = [...Array(MAX_HEADER_LINES - 4).fill('a:'), 'x-request-id: last', CLOSE];
    const [most] = await sendRaw(server.port, current(...lines));
    expect([most?.status, most?.headers['x-request-id']]).toEqual([200, 'last']);
    const [twice] = await sendRaw(server.port, current('x-request-id: a', 'x-request-id: b', CLOSE));
    expect(twice?.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([201, 3_500])('is refused, with an id of %i characters in its path', async (length) => {
    const text = get(`/v1/flywheel/batch/${'a'.repeat(length)}`, CLOSE);
    expect((await sendRaw(server.port, without(text, KEY)))[0]?.status).toBe(401);
    const [answer] = await sendRaw(server.port, text);
    expect([answer?.status, JSON.parse(answer?.body ?? '{}')]).toEqual([
      400,
      { error: 'ERR_INVALID_REQUEST', message: expect.stringContaining('200') },
    ]);
    expect(answer?.headers['ratelimit-policy']).toBeDefined();
    expect(fake.calls).toEqual([]);
  });

  it('is answered in its turn on a connection with others', async () => {
    const answers = await sendRaw(
      server.port,
      current() + burn([LENGTH]) + get('/v1/nothing') + current(CLOSE),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 200]);
    const called = fake.calls.map(({ operation }) => operation);
    expect(called.sort()).toEqual(['burn', 'currentBatch', 'currentBatch']);
  });

  it('has the rest of its body as a body, never as a request', async () => {
    const smuggled = current();
    const length = `content-length: ${smuggled.length}`;
    const text = burn([length], smuggled).replace('application/json', 'text/plain');
    const answers = await sendRaw(server.port, text + get('/healthz', CLOSE));
    expect([answers.map(({ status }) => status), fake.calls]).toEqual([[415, 200], []]);
    const second = await sendRaw(server.port, current(length) + smuggled + get('/healthz', CLOSE));
    expect([second.map(({ status }) => status), fake.calls.length]).toEqual([[200, 200], 1]);
  });

  it('has no path but its own, however it is written', async () => {
    for (const path of [
      ...['/v1/flywheel/batch/../../../metrics', '/./v1/flywheel/batch/current'],
      ...['/v1//flywheel/batch/current', '/v1/flywheel/batch/current/', '/V1/flywheel/batch/current'],
      ...['/v1/flywheel/batch/current;x=1', '/v1/flywheel/batch/current%2f', '/v1/flywheel/batch/%zz'],
    ]) {
      const [answer] = await sendRaw(server.port, get(path, CLOSE));
      const isRefused = [400, 404].includes(answer?.status ?? 0);
      expect([path, isRefused || fake.calls.at(-1)?.operation === 'getBatch']).toEqual([path, true]);
      expect(answer?.headers['x-request-id']).toMatch(/./);
    }
    expect(fake.calls.filter(({ operation }) => operation !== 'getBatch')).toEqual([]);
  });

  it('that is broken comes behind those that still run: their answers come first, and are theirs', async () => {
    let finish = (): void => undefined;
    fake.answer(
      'burn',
      () =>
        new Promise((resolve) => {
          finish = () => resolve(exampleReply('burn'));
        }),
    );
    const answers = sendRaw(server.port, burn([LENGTH]), 'this is not HTTP\r\n\r\n');
    while (fake.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    finish();
    expect((await answers).map(({ status }) => status)).toEqual([200, 400]);
  });

  it('that breaks off in its body has an answer of its own, in its turn', async () => {
    const broken = burn(['x-request-id: mine', CHUNKED], '5\r\n{"typ\r\nzz\r\n');
    const answers = await sendRaw(server.port, current() + broken);
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
    const cause = new FlywheelError('ERR_STORE_UNAVAILABLE', 'The store /data/store.db is damaged.');
    for (const thrown of [
      cause,
      new FlywheelError('ERR_BATCH_INIT_FAILED', 'Inside.', { cause }),
      new Error('wrapped', { cause }),
    ]) {
      fake.answer('burn', () => Promise.reject(thrown));
      server.logLines.length = 0;
      const [answer] = await sendRaw(server.port, burn([LENGTH, CLOSE]));
      expect([answer?.status, answer?.headers['retry-after'], JSON.parse(answer?.body ?? '')]).toEqual([
        ...[503, '1'],
        { error: 'ERR_UNAVAILABLE', message: 'The store cannot be reached.' },
      ]);
      for (const told of ['is damaged', '"code":"ERR_STORE_UNAVAILABLE"'])
        expect(server.logLines.join('')).toContain(told);
    }
  });

  it('that still runs when time is up is answered 503, and its service is told to stop', async () => {
    let finish = (): void => undefined;
    const started = new Promise<void>((begun) =>
      fake.answer('currentBatch', () => {
        begun();
        return new Promise((resolve) => {
          finish = () => resolve({ value: null, meta: { replayed: false } });
        });
      }),
    );
    const running = sendRaw(server.port, current(CLOSE));
    await started;
    const closed = server.closeGracefully(50);
    const [answer] = await running;
    expect([answer?.status, answer?.headers['retry-after']]).toEqual([503, '1']);
    expect(fake.calls[0]?.call.signal?.aborted).toBe(true);
    finish();
    expect(await closed).toBe(false);
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
    client.socket.write(current());
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
    for (const { socket } of working) socket.write(burn([LENGTH]));
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
