/** HTTP headers (service specification, section 5; contract, sections 1.1, 1.4 and 1.5). */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { it } from './cases.js';
import { aBurnRequest, burning } from './requests.js';
import { BODIES, call, OPERATIONS } from './wire.js';

export function headers(): void {
  it('5: "Header | `x-service-api-key`, carrying <API_KEY>" — in any case of the name, and by no other', async ({
    http,
    project,
  }) => {
    const key = project.key;
    const status = async (sent: Record<string, string>, query = '') =>
      (await http.send('GET', `/v1/flywheel/batch/current${query}`, { headers: sent })).status;
    expect(await status({ 'X-Service-API-Key': key })).toBe(200);
    for (const sent of [
      {},
      { 'x-api-key': key },
      { authorization: key },
      { authorization: `Bearer ${key}` },
      { cookie: `x-service-api-key=${key}` },
    ]) {
      expect([sent, await status(sent as Record<string, string>)]).toEqual([sent, 401]);
    }
    expect(await status({}, `?x-service-api-key=${key}`)).toBe(401);
  });

  it('contract 1.1: "`--api-key-header` or a profile sets another name, for client and server alike"', async (api) => {
    const { project } = api;
    await api.beside({ apiKeyHeader: 'X-Brand-Api-Key' }, async ({ http }) => {
      const status = async (name: string) =>
        (await http.send('GET', '/v1/flywheel/batch/current', { headers: { [name]: project.key } }))?.status;
      expect([await status('x-brand-api-key'), await status('x-service-api-key')]).toEqual([200, 401]);
    });
  });

  it('contract 1.1: "Every response has a request id in `x-request-id`"', async (api) => {
    const { http } = api;
    for (const operation of OPERATIONS) {
      const own = await call(api, operation, { 'x-request-id': `mine-${operation}` });
      expect(own.headers['x-request-id']).toBe(`mine-${operation}`);
      const refused = await call(api, operation, { 'x-service-api-key': '' });
      expect([refused.status, refused.headers['x-request-id']]).toEqual([401, expect.stringMatching(/\S/)]);
    }
    for (const [method, path] of [
      ['GET', '/nowhere'],
      ['DELETE', '/v1/tokenomics/burn'],
    ] as const) {
      expect((await http.send(method, path)).headers['x-request-id']).toMatch(/\S/);
    }
    const [one, two] = [await call(api, 'currentBatch'), await call(api, 'currentBatch')];
    expect(one.headers['x-request-id']).not.toBe(two.headers['x-request-id']);
  });

  it('contract 1.8: "Every answer of an operation … `RateLimit-Policy` and `RateLimit`", an unknown path or method neither', async (api) => {
    for (const operation of OPERATIONS) {
      for (const sent of [{}, { 'x-service-api-key': 'fwk_unknown' }]) {
        const { headers: got } = await call(api, operation, sent as Record<string, string>);
        expect(got['ratelimit-policy']).toMatch(/^"[a-z-]+";q=\d+;w=\d+$/);
        expect(got['ratelimit']).toMatch(/^"[a-z-]+";r=\d+;t=\d+$/);
      }
    }
    for (const [method, path, status] of [
      ['GET', '/v1/nowhere', 404],
      ['DELETE', '/v1/tokenomics/burn', 405],
    ] as const) {
      const answer = await api.http.send(method, path);
      const { 'ratelimit-policy': policy, ratelimit, 'x-request-id': requestId } = answer.headers;
      expect([answer.status, policy, ratelimit]).toEqual([status, undefined, undefined]);
      expect(requestId).toMatch(/\S/);
    }
  });

  it('contract 1.1: a request id with a space or of more than 128 characters is not given back, a fresh one is', async (api) => {
    for (const sent of ['with space', 'x'.repeat(129)]) {
      const { headers: got } = await call(api, 'currentBatch', { 'x-request-id': sent });
      expect(got['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  it('contract 1.1: "Answers about a batch have its cost until now, in lamports: `x-batch-cost`" — also with a repeat', async (api) => {
    const { http, project } = api;
    const sent = { 'x-idempotency-key': randomUUID() };
    const text = JSON.stringify(BODIES.initBatch);
    const answers = [
      await http.post('initBatch', project, text, sent),
      await http.post('initBatch', project, text, sent),
    ];
    const costs = answers.map((answer) => answer.http.headers['x-batch-cost']);
    expect(costs).toEqual([costs[0], expect.stringMatching(/^operator=[1-9]\d*;vault=0$/)]);
    const { batch } = JSON.parse(answers[0]?.http.bytes.toString() ?? '');
    for (const read of [await api.getBatch(project, batch.id), await api.currentBatch(project)])
      expect(read.http.headers['x-batch-cost']).toBe(costs[0]);
    expect(
      (await call(api, 'currentBatch', { 'x-service-api-key': '' })).headers['x-batch-cost'],
    ).toBeUndefined();
  });

  it('contract 1.4: "A 400 for the shape or an amount of the request says `idempotency-key-unused: true`", at the door nothing does', async (api) => {
    const { http } = api;
    const project = await api.register({ dailyBurn: '1' });
    const said = async (body: unknown, key = 'k-1') =>
      (await api.burn(project, body, key)).http.headers['idempotency-key-unused'];
    const saidOfInit = async (body: unknown) =>
      (await api.initBatch(project, body, 'k-1')).http.headers['idempotency-key-unused'];
    expect([await said(aBurnRequest(0)), await said({})]).toEqual(['true', 'true']);
    expect([await saidOfInit({}), await saidOfInit(burning(0))]).toEqual(['true', 'true']);
    // Another key of the project may use another type.
    expect(await said(aBurnRequest(1, { type: 'NOPE' }))).toBeUndefined();
    // A cap refusal is not final: another server's attempt in progress may still succeed.
    expect([await said(aBurnRequest(2)), await saidOfInit(burning(2))]).toEqual([undefined, undefined]);
    (await api.burn(project, aBurnRequest(1), 'k-1')).done();
    expect([await said({ ...aBurnRequest(1), persistOnchain: 'yes' }), await said(aBurnRequest(2))]).toEqual([
      undefined,
      undefined,
    ]);
    const doors = [
      await http.post('burn', project, '{'),
      await http.post('burn', project, '{}', { 'content-type': 'text/plain' }),
      await http.post('burn', 'nobody', '{}'),
    ];
    expect(doors.map(({ status, http: door }) => [status, door.headers['idempotency-key-unused']])).toEqual(
      [400, 415, 401].map((status) => [status, undefined]),
    );
  });
}
