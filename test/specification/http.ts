/** HTTP paths, methods and bodies (service specification, sections 4 and 9; contract, section 1.3). */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { expect } from 'vitest';
import { ROUTES } from './api.js';
import { it } from './cases.js';
import { supplyOf } from './chain-reading.js';
import { aBurnRequest } from './requests.js';
import { BODIES, call, errorOf, OPERATIONS, POSTS } from './wire.js';

const MIB = 1_024 * 1_024;
/** Deeper than the limit of a body. */
const DEEP = `${'['.repeat(70)}${']'.repeat(70)}`;

export function pathsAndMethods(): void {
  it('contract 1.3: "404 / 405 | ERR_NOT_FOUND / ERR_METHOD_NOT_ALLOWED | unknown route / method" 9: "The version is the path prefix `/v1/`."', async ({
    http,
  }) => {
    const unknown = await http.send('POST', '/v1/tokenomics/mint');
    expect([unknown.status, errorOf(unknown)]).toEqual([404, 'ERR_NOT_FOUND']);
    for (const operation of OPERATIONS) {
      const [method, path] = ROUTES[operation];
      for (const other of ['PUT', 'DELETE', 'PATCH', method === 'GET' ? 'POST' : 'GET']) {
        const answer = await http.send(other, path.replace('{batchId}', randomUUID()));
        expect([operation, other, answer.status, errorOf(answer)]).toEqual([
          operation,
          other,
          405,
          'ERR_METHOD_NOT_ALLOWED',
        ]);
        expect(answer.headers['allow']).toBe(method);
      }
    }
    for (const path of [
      ...['/v1', '/v1/tokenomics/burn/', '//v1/tokenomics/burn', '/V1/tokenomics/burn'],
      ...['/tokenomics/burn', '/v2/tokenomics/burn'],
    ])
      expect([path, (await http.send('POST', path, { body: '{"broken' })).status]).toEqual([path, 404]);
    const head = await http.send('HEAD', '/v1/flywheel/batch/current');
    expect([head.status, head.headers['allow']]).toEqual([405, 'GET']);
  });

  it('contract 1.3: "ERR_INVALID_REQUEST — the body is not JSON"', async ({ http, project }) => {
    const badUtf8 = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    for (const operation of POSTS) {
      for (const text of [
        '',
        '{',
        '{"a":}',
        "{'a':1}",
        '[1,]',
        'undefined',
        '{"a":NaN}',
        '{} {}',
        '{"type":"A","type":"B"}',
        badUtf8,
        DEEP,
      ]) {
        const answer = await http.post(operation, project, text, { 'x-idempotency-key': randomUUID() });
        answer.refused(400, 'ERR_INVALID_REQUEST');
      }
    }
  });

  it('4: "Bodies are JSON." — contract 1.3: "415 ERR_UNSUPPORTED_MEDIA_TYPE — not JSON"', async (api) => {
    const { http, project } = api;
    const before = await supplyOf(api, project);
    for (const type of [
      'text/plain',
      'application/xml',
      'application/x-www-form-urlencoded',
      'application/json-patch+json',
      'application/json; charset=latin1',
      'text/json',
      ';',
      '',
    ]) {
      const answer = await http.post('burn', project, JSON.stringify(aBurnRequest(1)), {
        'content-type': type,
      });
      answer.refused(415, 'ERR_UNSUPPORTED_MEDIA_TYPE');
    }
    const packed = await http.post('burn', project, JSON.stringify(BODIES.burn), {
      'content-encoding': 'gzip',
    });
    packed.refused(415, 'ERR_UNSUPPORTED_MEDIA_TYPE');
    expect(await supplyOf(api, project)).toBe(before);
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'Application/JSON;charset="UTF-8"',
    ]) {
      (await http.post('burn', project, JSON.stringify(aBurnRequest(1)), { 'content-type': type })).done();
    }
  });

  it('contract 1.3: "413 … | ERR_PAYLOAD_TOO_LARGE … | over the body limit (default 4 MiB), or too many JSON values (1.6)"', async ({
    http,
    project,
  }) => {
    const large = (sizeBytes: number): string => `{"pad":"${'x'.repeat(sizeBytes - 10)}"}`;
    const key = { 'x-idempotency-key': randomUUID() };
    for (const body of [large(4 * MIB + 1), Readable.from([large(4 * MIB + 1)])]) {
      const over = await http.post('burn', project, body, key);
      over.refused(413, 'ERR_PAYLOAD_TOO_LARGE');
    }
    // Its idempotency key is still unused.
    expect((await http.post('burn', project, JSON.stringify(BODIES.burn), key)).replayed).toBe(false);
    const exact = await http.post('burn', project, large(4 * MIB));
    exact.refused(400, 'ERR_INVALID_REQUEST');
  });
}

export function bodies(): void {
  it('4.4: "the JSON value `null`" — contract 1.3: "the four bytes `null`"', async (api) => {
    const { http } = api;
    const project = await api.register();
    const headers = { 'x-service-api-key': project.key };
    const answer = await http.send('GET', '/v1/flywheel/batch/current', { headers });
    expect(answer.bytes).toEqual(Buffer.from('null'));
    expect([answer.status, answer.headers['content-length']]).toEqual([200, '4']);
  });

  it('4.4: "No parameters and no body." — a query changes nothing', async ({ http, project }) => {
    const headers = { 'x-service-api-key': project.key };
    const plain = await http.send('GET', '/v1/flywheel/batch/current', { headers });
    const queried = await http.send('GET', '/v1/flywheel/batch/current?tokenId=other', { headers });
    expect([queried.status, queried.bytes]).toEqual([200, plain.bytes]);
  });

  it('4: "Bodies are JSON." — every answer is, and says so', async (api) => {
    for (const operation of OPERATIONS) {
      for (const answer of [
        await call(api, operation),
        await call(api, operation, { 'x-service-api-key': 'fwk_unknown' }),
      ]) {
        expect(answer.headers['content-type']).toMatch(/^application\/json(; charset=utf-8)?$/);
        expect(() => JSON.parse(answer.bytes.toString()) as unknown).not.toThrow();
        expect(answer.headers['content-length']).toBe(String(answer.bytes.length));
      }
    }
  });

  it('4.2: "401: error body; API key missing or invalid." — before anything else of the request is looked at', async ({
    http,
  }) => {
    for (const by of [null, 'fwk_unknown']) {
      const answer = await http.post('burnBatch', by, '{"broken', { 'content-type': 'text/plain' });
      answer.refused(401, 'ERR_UNAUTHORIZED');
      const blank = await http.post('burnBatch', by, 'x', { 'x-idempotency-key': 'with space' });
      blank.refused(401, 'ERR_UNAUTHORIZED');
      (await http.post('burn', by, 'x'.repeat(4 * MIB + 1))).refused(401, 'ERR_UNAUTHORIZED');
    }
  });

  it('9: "The burn and batch burn operations are deprecated" — their answers say so, the others do not', async (api) => {
    for (const operation of OPERATIONS) {
      const { headers } = await call(api, operation);
      const isDeprecated = operation === 'burn' || operation === 'burnBatch';
      expect([operation, headers['deprecation'] !== undefined]).toEqual([operation, isDeprecated]);
      if (isDeprecated) expect(headers['link']).toContain('/v1/flywheel/batch/init');
    }
  });

  it('contract 1.3, 1.5: key, limit, scope, media type and body are looked at in this order', async (api) => {
    const { key } = await api.service.createKey({ scopes: ['airdrop'], proofTypes: null });
    const rateLimits = { burn: { name: 'burn', points: 1, windowSeconds: 60 } };
    await api.beside({ rateLimits }, async ({ http }) => {
      const status = async (operation: 'burn' | 'initBatch', by: string | null, type: string) =>
        (await http.post(operation, by, '{"broken', { 'content-type': type })).status;
      expect(await status('burn', null, 'x')).toBe(401);
      expect(await status('burn', key, 'x')).toBe(403);
      expect(await status('burn', key, 'x')).toBe(429);
      expect(await status('initBatch', key, 'x')).toBe(415);
      expect(await status('initBatch', key, 'application/json')).toBe(400);
    });
  });
}
