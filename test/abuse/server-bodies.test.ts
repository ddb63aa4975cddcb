/** Bodies that are cheap to send and expensive to check are refused. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeService, fakeService, GOOD_KEY } from '../support/fake-service.js';
import { type RunningServer, startServer } from '../support/http.js';
import { sendRaw } from '../support/http-raw.js';

const PATH = '/v1/tokenomics/burn-batch';
const KIB = 1_024;
const MIB = KIB * KIB;
/** A request whose body is sent as its tests say. */
const head = (...lines: readonly string[]): string =>
  [
    ...[`POST ${PATH} HTTP/1.1`, 'host: a', `x-service-api-key: ${GOOD_KEY}`, 'connection: close'],
    ...[`x-idempotency-key: ${randomUUID()}`, 'content-type: application/json', ...lines, '', ''],
  ].join('\r\n');
const CHUNKED = 'transfer-encoding: chunked';

/** Limit of one body (contract, section 1.6). */
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
        fake.calls.length = 0;
        const [whole] = await sendRaw(server.port, head(`content-length: ${bytes.length}`), ...pieces);
        const chunks = pieces.flatMap((piece) => [`${piece.length.toString(16)}\r\n`, piece, '\r\n']);
        const [chunked] = await sendRaw(server.port, head(CHUNKED), ...chunks, '0\r\n\r\n');
        expect([whole?.status, chunked?.status]).toEqual([200, 200]);
        expect(fake.calls.map((seen) => seen.input)).toEqual([input, input]);
      }
    }
  });

  it('says where a large body stops being JSON, as of a small one', async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `{"n":${index}}`).join(',\n');
    const notJson = (what: string) => [400, 'ERR_INVALID_REQUEST', expect.stringContaining(what)];
    const twice = await post(`[${lines},\n{"n":1,"n":2}]`);
    expect(await problem(twice)).toEqual(notJson('line 20001, column 8'));
    const broken = Buffer.from(`["${'x'.repeat(200_000)}\u00ff"]`, 'latin1');
    expect(await problem(await post(broken as never))).toEqual(notJson('UTF-8'));
  });

  it('is not repeated to its sender when it is wrong', async () => {
    const key = `"${'k'.repeat(1.5 * MIB)}":1`;
    const response = await post(`{${key},${key}}`);
    const text = await response.text();
    expect([response.status, text.length < 400]).toEqual([400, true]);
  });

  it('may come in a hundred thousand chunks', async () => {
    const chunks = '1\r\n \r\n'.repeat(100_000);
    const [answer] = await sendRaw(server.port, head(CHUNKED) + chunks, '0\r\n\r\n');
    expect([answer?.status, answer?.body]).toEqual([400, expect.stringContaining('ERR_INVALID_REQUEST')]);
  });
});
