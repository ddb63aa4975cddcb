/** The client returns the server's answers: each operation, its errors and its headers. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../../src/contract/service.js';
import type { Uuid } from '../../src/values/ids.js';
import { Secret } from '../../src/values/secret.js';
import { Api } from '../specification/api.js';
import { supplyOf } from '../specification/chain-reading.js';
import { openService } from '../specification/in-process-service.js';
import { aBurnRequest, aPipeline, approved, burnAction } from '../specification/requests.js';
import { remoteClient } from '../support/http.js';
import { failureOf } from '../support/service.js';

describe('the client', () => {
  let api: Api;
  let client: Service;
  beforeAll(async () => {
    api = new Api(await openService());
    client = remoteClient(api.service.urls[0] ?? '').service;
  });
  afterAll(async () => {
    await client.close();
    await api.close();
    await api.service.close();
  });
  const call = (more: object = {}) => ({ credential: new Secret(api.project.key), ...more });

  it('gives burns and their repeats as the server answers them', async () => {
    const [key, request] = [randomUUID(), aBurnRequest(1, { proof: { a: 'ü', n: 1e21 } })];
    const one = await client.burn(request as never, call({ idempotencyKey: key }));
    const again = await api.burn(api.project, request, key);
    expect([one.value, one.meta.replayed, again.replayed]).toEqual([again.done(), false, true]);
    expect((await client.burn(request as never, call({ idempotencyKey: key }))).meta.replayed).toBe(true);
    const elements = [aBurnRequest(1), aBurnRequest(2, { type: 'NOPE' })];
    const many = await client.burnBatch(elements as never, call({ idempotencyKey: key }));
    expect(many.value).toEqual((await api.burnBatch(api.project, elements, key)).done());
  });

  it('gives a batch from init to its end as the server answers it', async () => {
    const before = await supplyOf(api, api.project);
    const key = randomUUID();
    const request = { pipelines: [aPipeline([burnAction(2)])] };
    const init = (await client.initBatch(request as never, call({ idempotencyKey: key }))).value;
    expect(init).toEqual((await api.initBatch(api.project, request, key)).done());
    const batchId = init.batch.id;
    const read = async () => [
      (await client.getBatch({ batchId }, call())).value,
      (await client.currentBatch(call())).value,
    ];
    const shown = async () => [
      (await api.getBatch(api.project, batchId)).done(),
      (await api.currentBatch(api.project)).done(),
    ];
    expect(await read()).toEqual(await shown());
    const executed = await client.executeBatch(approved(api.project, init) as never, call());
    expect(executed.value).toEqual((await api.executeBatch(api.project, approved(api.project, init))).done());
    expect(executed.meta.cost?.operatorLamports).toBeGreaterThan(0n);
    expect(await read()).toEqual(await shown());
    expect(before - (await supplyOf(api, api.project))).toBe(2_000_000n);
  });

  it('gives errors with code, status, exit number, request id and what became of the key', async () => {
    const asked = client.getBatch({ batchId: randomUUID() as Uuid }, call({ requestId: 'from-the-caller' }));
    const missing = await failureOf(asked);
    expect([missing.code, missing.status, missing.exitCode, missing.options.requestId]).toEqual([
      ...['ERR_BATCH_NOT_FOUND', 404, 5],
      'from-the-caller',
    ]);
    const bad = aBurnRequest(0) as never;
    const refused = await failureOf(client.burn(bad, call({ idempotencyKey: randomUUID() })));
    expect([refused.code, refused.exitCode, refused.options.keyUnused]).toEqual([
      'ERR_BURN_TOKENOMICS_FAILED',
      5,
      true,
    ]);
    const unknown = await failureOf(client.burn(bad, { credential: new Secret('fwk_unknown') }));
    expect([unknown.code, unknown.exitCode, unknown.options.keyUnused]).toEqual([
      ...['ERR_UNAUTHORIZED', 4],
      undefined,
    ]);
  });
});
