/** Bodies that are cheap to send and dear to check: what is too much is refused, and what is taken keeps nobody waiting. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dearBodies, plainBody } from '../support/dear-bodies.js';
import { exampleReply, type FakeService, fakeService, GOOD_KEY } from '../support/fake-service.js';
import { type RunningServer, startServer } from '../support/http.js';
import { sendRaw } from '../support/http-raw.js';
import { isLong } from '../support/long.js';
import { waitBeside } from '../support/neighbours.js';

const PATH = '/v1/tokenomics/burn-batch';
const KIB = 1_024;
const MIB = KIB * KIB;
/** Of one body (contract, section 1.6). */
const MAX_JSON_VALUES = 80_000;
const MAX_JSON_OBJECTS = 40_000;
const MAX_OBJECT_KEYS = 10_000;

describe('a body that is dear to check', () => {
  let fake: FakeService;
  let server: RunningServer;

  beforeEach(async () => {
    fake = fakeService();
    server = await startServer({ service: fake.service });
  });
  afterEach(async () => {
    await server.closeGracefully(1_000);
  });

  const post = (body: string, idempotencyKey = randomUUID()): Promise<Response> =>
    fetch(server.url + PATH, {
      method: 'POST',
      body,
      headers: {
        'x-service-api-key': GOOD_KEY,
        'content-type': 'application/json',
        'x-idempotency-key': idempotencyKey,
      },
    });
  const problem = async (response: Response): Promise<[number, string, string]> => {
    const { error, message } = (await response.json()) as { error: string; message: string };
    return [response.status, error, message];
  };
  const tooMany = (what: string) => [413, 'ERR_PAYLOAD_TOO_LARGE', expect.stringContaining(what)];

  it('has at most 80,000 values, however small they are', async () => {
    expect(await problem(await post(`[${'1,'.repeat(MAX_JSON_VALUES)}1]`))).toEqual(tooMany('80,000'));
    expect(await problem(await post('['.repeat(60) + '[[],1],'.repeat(150_000)))).toEqual(tooMany('80,000'));
    expect(fake.calls).toEqual([]);
    const most = await post(`[${'1,'.repeat(MAX_JSON_VALUES - 2)}1]`);
    expect(most.status).toBe(200);
    expect(fake.calls[0]?.input).toHaveLength(MAX_JSON_VALUES - 1);
  });

  it('has at most 40,000 objects among them, wherever they are', async () => {
    expect(await problem(await post(`[${'{},'.repeat(1_000_000)}{}]`))).toEqual(tooMany('40,000'));
    expect(await problem(await post('['.repeat(60) + '{"a":{}},'.repeat(150_000)))).toEqual(
      tooMany('40,000'),
    );
    expect(fake.calls).toEqual([]);
    expect((await post(`[${'{},'.repeat(MAX_JSON_OBJECTS - 2)}{}]`)).status).toBe(200);
  });

  it('has at most 10,000 keys in one object', async () => {
    const object = (keys: number): string =>
      `{${Array.from({ length: keys }, (_, at) => `"k${at}":1`).join()}}`;
    expect(await problem(await post(`[{"proof":${object(MAX_OBJECT_KEYS + 1)}}]`))).toEqual(
      tooMany('10,000'),
    );
    expect(fake.calls).toEqual([]);
    expect((await post(`[${object(MAX_OBJECT_KEYS)},${object(MAX_OBJECT_KEYS)}]`)).status).toBe(200);
  });

  it('is read as it is, whether it comes in one piece or in many, small or large', async () => {
    const elements = Array.from({ length: 1_500 }, (_, index) => ({
      type: 'PRODUCT_BUY',
      proof: { index, text: `é中😀\n"\\${'x'.repeat(index % 300)}` },
    }));
    for (const input of [elements.slice(0, 3), elements]) {
      const bytes = Buffer.from(JSON.stringify(input));
      for (const pieceBytes of [bytes.length, 30_011, 997]) {
        const pieces: Buffer[] = [];
        for (let at = 0; at < bytes.length; at += pieceBytes)
          pieces.push(bytes.subarray(at, at + pieceBytes));
        const head = [
          `POST ${PATH} HTTP/1.1`,
          'host: a',
          `x-service-api-key: ${GOOD_KEY}`,
          `x-idempotency-key: ${randomUUID()}`,
          'content-type: application/json',
          'connection: close',
        ];
        fake.calls.length = 0;
        const [whole] = await sendRaw(
          server.port,
          [...head, `content-length: ${bytes.length}`, '', ''].join('\r\n'),
          ...pieces,
        );
        const chunks = pieces.map((piece) =>
          Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]),
        );
        const [chunked] = await sendRaw(
          server.port,
          [...head, 'transfer-encoding: chunked', '', ''].join('\r\n'),
          ...chunks,
          '0\r\n\r\n',
        );
        expect([whole?.status, chunked?.status]).toEqual([200, 200]);
        expect(fake.calls.map((seen) => seen.input)).toEqual([input, input]);
      }
    }
  });

  it('says where a large body stops being JSON, as of a small one', async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `{"n":${index}}`).join(',\n');
    expect(await problem(await post(`[${lines},\n{"n":1,"n":2}]`))).toEqual([
      400,
      'ERR_INVALID_REQUEST',
      expect.stringMatching(/line 20001, column 8/),
    ]);
    const broken = Buffer.concat([
      Buffer.from(`["${'x'.repeat(200_000)}`),
      Buffer.from([0xff]),
      Buffer.from('"]'),
    ]);
    expect(await problem(await post(broken as never))).toEqual([
      400,
      'ERR_INVALID_REQUEST',
      expect.stringContaining('UTF-8'),
    ]);
  });

  it('is not repeated to its sender when it is wrong', async () => {
    const key = `"${'k'.repeat(1.5 * MIB)}":1`;
    const response = await post(`{${key},${key}}`);
    const text = await response.text();
    expect([response.status, text.length < 400]).toEqual([400, true]);
  });

  it('may come in a hundred thousand chunks', async () => {
    const chunks = '1\r\n \r\n'.repeat(100_000);
    const [answer] = await sendRaw(
      server.port,
      [
        `POST ${PATH} HTTP/1.1`,
        'host: a',
        `x-service-api-key: ${GOOD_KEY}`,
        `x-idempotency-key: ${randomUUID()}`,
        'content-type: application/json',
        'transfer-encoding: chunked',
        'connection: close',
        '',
        chunks,
      ].join('\r\n'),
      '0\r\n\r\n',
    );
    expect([answer?.status, answer?.body]).toEqual([400, expect.stringContaining('ERR_INVALID_REQUEST')]);
  });

  it('gets a long answer that is what JSON.stringify makes of it', async () => {
    const value = {
      success: Array.from({ length: 3_000 }, (_, index) => ({
        index,
        text: `é"\\\n中😀${index}`,
        gone: undefined,
      })),
      errors: [],
      none: null,
      gone: undefined,
      deep: { list: Array.from({ length: 300 }, (_, index) => [index, undefined, null]) },
      wide: [[[Array.from({ length: 30_000 }, (_, index) => ({ index, none: undefined }))]]],
      long: `${'😀\ud800"'.repeat(30_000)}\ud83d`,
    };
    fake.answer('burnBatch', () => ({ ...exampleReply('burnBatch'), value }));
    const response = await post('[]');
    const text = await response.text();
    expect(text).toBe(JSON.stringify(value));
    expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
  });
});

const ROUNDS = 3;
const DEAREST = 'objects of six keys that no other has';

// They compare times, which only a machine without other work can do.
if (isLong) {
  describe('while a body of the largest size is checked', othersAreAnswered);
  describe('while a batch of many pipelines is set up', othersHaveTurns);
}

function othersAreAnswered(): void {
  it('others wait at most 250 ms at p99, however dear it is to check', async () => {
    const server = await startServer({ service: fakeService().service });
    // All shapes that a search has found take a while; of them the dearest is always looked at.
    const { [DEAREST]: dearest = '', ...rest } = dearBodies();
    const bodies = { [DEAREST]: dearest, plain: plainBody(), ...rest };
    /** By name of the body: the round in which the rest of the machine disturbed least. */
    const waits = new Map<string, number>();
    for (let round = 0; round < ROUNDS; round += 1)
      for (const [name, body] of Object.entries(bodies)) {
        const { answers, p99Ms } = await waitBeside(server, { path: PATH, body, times: 1 });
        expect([name, answers.map(({ status }) => status)]).toEqual([name, [200]]);
        waits.set(name, Math.min(p99Ms, waits.get(name) ?? Number.POSITIVE_INFINITY));
      }
    await server.closeGracefully(1_000);
    expect([...waits].filter(([, p99Ms]) => p99Ms > 250)).toEqual([]);
  });
}

function othersHaveTurns(): void {
  const pipelines = Array.from({ length: 250 }, (_, index) => ({
    type: 'WATCH_AD',
    payload: JSON.stringify({ index }),
    actions: [{ action: 'BURN' as const, amount: 0.000001 }],
  }));

  /** The longest time for which nobody else has a turn, as a share of the time that the batch takes. */
  async function longestShare(): Promise<number> {
    const { openTestEngine, SHARED_LIMITS } = await import('../support/engine.js');
    const { engine, project, destroy } = await openTestEngine({}, { limits: SHARED_LIMITS });
    const startedMs = performance.now();
    let [turnMs, longestMs] = [startedMs, 0];
    const turn = (): void => {
      const nowMs = performance.now();
      longestMs = Math.max(longestMs, nowMs - turnMs);
      turnMs = nowMs;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    const { value } = await engine.initBatch({ pipelines }, project.call());
    clearImmediate(next);
    await destroy();
    expect(value.batch.pipelines).toHaveLength(pipelines.length);
    return longestMs / (turnMs - startedMs);
  }

  it('others have their turns in between', async () => {
    const shares: number[] = [];
    for (let round = 0; round <= ROUNDS; round += 1) shares.push(await longestShare());
    // The round in which the rest of the machine disturbed least.
    expect(Math.min(...shares)).toBeLessThan(1 / 10);
  }, 180_000);
}
