import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeService, fakeService, GOOD_KEY } from '../../support/fake-service.js';
import { type RunningServer, startServer } from '../../support/http.js';
import { sendRaw } from '../../support/http-raw.js';

const ID = '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11';
const JSON_TYPE = { 'content-type': 'application/json' };

describe('the input of an operation', () => {
  let fake: FakeService;
  let server: RunningServer;

  beforeEach(async () => {
    fake = fakeService();
    server = await startServer({ service: fake.service });
  });
  afterEach(async () => {
    await server.closeGracefully(1_000);
  });

  const ask = (method: string, path: string, body?: string, headers: Record<string, string> = {}) =>
    fetch(`${server.url}/v1/flywheel/batch${path}`, {
      method,
      headers: { 'x-service-api-key': GOOD_KEY, ...headers },
      ...(body === undefined ? {} : { body }),
    });
  const inputs = () => fake.calls.map(({ operation, input }) => [operation, input]);
  const refusal = async (response: Response) => {
    const { error, message } = (await response.json()) as { error: string; message: string };
    return [response.status, error, message];
  };

  it('comes from the query of a GET, whose limit is a number', async () => {
    await ask('GET', '?status=EXECUTED&limit=7&since=2026-01-01');
    await ask('GET', `/${ID}/pipelines?limit=seven`);
    expect(inputs()).toEqual([
      ['listBatches', { status: 'EXECUTED', limit: 7, since: '2026-01-01' }],
      ['batchPipelines', { batchId: ID, limit: 'seven' }],
    ]);
  });

  it('comes from path and body of a POST, which name no field twice', async () => {
    await ask('POST', `/${ID}/cancel`, '{"signedTx":"AQ=="}', JSON_TYPE);
    expect(inputs()).toEqual([['cancelBatch', { signedTx: 'AQ==', batchId: ID }]]);
    const twice = await ask('POST', `/${ID}/cancel`, `{"batchId":"${ID}"}`, JSON_TYPE);
    expect(await refusal(twice)).toEqual([
      400,
      'ERR_INVALID_REQUEST',
      expect.stringContaining('it is in the path'),
    ]);
    const list = await ask('POST', `/${ID}/cancel`, '[]', JSON_TYPE);
    expect(await refusal(list)).toEqual([
      400,
      'ERR_INVALID_REQUEST',
      expect.stringContaining('expected an object'),
    ]);
    expect(fake.calls).toHaveLength(1);
  });

  it.each(['approval', 'cancel'])(
    'needs no body for %s, whose path says what it is about',
    async (action) => {
      expect((await ask('POST', `/${ID}/${action}`)).status).toBe(200);
      expect((await ask('POST', `/${ID}/${action}`, '', JSON_TYPE)).status).toBe(200);
      expect((await ask('POST', `/${ID}/${action}`, '{}', JSON_TYPE)).status).toBe(200);
      expect(fake.calls.map(({ input }) => input)).toEqual(Array(3).fill({ batchId: ID }));
      const [bare] = await sendRaw(
        Number(new URL(server.url).port),
        `POST /v1/flywheel/batch/${ID}/${action} HTTP/1.1\r\nhost: a\r\nx-service-api-key: ${GOOD_KEY}\r\nconnection: close\r\n\r\n`,
      );
      expect(bare?.status).toBe(200);
    },
  );

  it('is missing without the body of any other POST', async () => {
    expect(await refusal(await ask('POST', '/init'))).toEqual([
      415,
      'ERR_UNSUPPORTED_MEDIA_TYPE',
      expect.anything(),
    ]);
    const empty = await ask('POST', '/execute', '', JSON_TYPE);
    expect(await refusal(empty)).toEqual([
      400,
      'ERR_INVALID_REQUEST',
      expect.stringContaining('got nothing'),
    ]);
    const text = await ask('POST', `/${ID}/cancel`, 'x', { 'content-type': 'text/plain' });
    expect(await refusal(text)).toEqual([415, 'ERR_UNSUPPORTED_MEDIA_TYPE', expect.anything()]);
    expect(fake.calls).toEqual([]);
  });

  it('has no id of over 200 characters in its path', async () => {
    for (const path of [`/${'a'.repeat(201)}`, `/${'a'.repeat(201)}/pipelines`])
      expect(await refusal(await ask('GET', path))).toEqual([
        400,
        'ERR_INVALID_REQUEST',
        'An id in the path has at most 200 characters.',
      ]);
    expect((await ask('GET', `/${'a'.repeat(200)}`)).status).toBe(200);
    expect(fake.calls).toHaveLength(1);
  });
});
