import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Call } from '../../../src/contract/call.js';
import { EXAMPLES } from '../../../src/contract/examples.js';
import type { InitBatchRequest } from '../../../src/contract/schemas/batch.js';
import type { BurnBatchRequest, BurnRequest } from '../../../src/contract/schemas/burn.js';
import type { Service } from '../../../src/contract/service.js';
import type { Uuid } from '../../../src/values/ids.js';
import { Secret } from '../../../src/values/secret.js';
import { type FakeService, fakeService, GOOD_KEY } from '../../support/fake-service.js';
import { type RunningServer, remoteClient, startServer } from '../../support/http.js';

const BATCH_ID = '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11' as Uuid;
const KEY = '6f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f12';

describe('client → server → service', () => {
  let fake: FakeService;
  let server: RunningServer;
  let client: Service;
  const call: Call = { credential: new Secret(GOOD_KEY), idempotencyKey: KEY, requestId: 'req-1' };

  beforeEach(async () => {
    fake = fakeService();
    server = await startServer({ service: fake.service }, { basePath: '/some/base' });
    client = remoteClient(server.url).service;
  });
  afterEach(async () => {
    await client.close();
    await server.closeGracefully(1_000);
  });

  it('carries input, key and request id to the service, and its value back', async () => {
    const burn = EXAMPLES.burn.request as BurnRequest;
    const burns = EXAMPLES.burnBatch.request as BurnBatchRequest;
    const init = EXAMPLES.initBatch.request as InitBatchRequest;
    const replies = [
      await client.burn(burn, call),
      await client.burnBatch(burns, call),
      await client.getBatch({ batchId: BATCH_ID }, call),
      await client.currentBatch(call),
      await client.initBatch(init, call),
      await client.executeBatch({ batchId: BATCH_ID, signedTx: 'AgAA' }, call),
    ];
    expect(fake.calls.map(({ operation, input }) => [operation, input])).toEqual([
      ['burn', burn],
      ['burnBatch', burns],
      ['getBatch', { batchId: BATCH_ID }],
      ['currentBatch', null],
      ['initBatch', init],
      ['executeBatch', { batchId: BATCH_ID, signedTx: 'AgAA' }],
    ]);
    expect(replies.map((reply) => reply.value)).toEqual(
      (['burn', 'burnBatch', 'getBatch', 'currentBatch', 'initBatch', 'executeBatch'] as const).map(
        (id) => EXAMPLES[id].response,
      ),
    );
    expect(replies.every((reply) => reply.meta.requestId === 'req-1')).toBe(true);
    const keys = fake.calls.map(({ call: seen }) => seen.idempotencyKey);
    expect(keys).toEqual([KEY, KEY, undefined, undefined, KEY, KEY]);
    expect(fake.calls.every(({ call: seen }) => seen.credential?.reveal() === GOOD_KEY)).toBe(true);
  });

  it('carries null, replays, limits and costs', async () => {
    fake.answer('currentBatch', () => ({
      value: null,
      meta: {
        replayed: false,
        cost: { feeLamports: 5_000n, rentPaidLamports: 2n ** 60n, rentReclaimedLamports: 0n },
      },
    }));
    const current = await client.currentBatch(call);
    expect(current.value).toBeNull();
    expect(current.meta.cost).toEqual({
      feeLamports: 5_000n,
      rentPaidLamports: 2n ** 60n,
      rentReclaimedLamports: 0n,
    });
    expect(current.meta.rateLimit).toMatchObject({ policy: 'batch-current', resetSeconds: 1 });
    fake.answer('burn', () => ({ value: EXAMPLES.burn.response, meta: { replayed: true } }));
    expect((await client.burn(EXAMPLES.burn.request as BurnRequest, call)).meta.replayed).toBe(true);
  });

  it('makes a key for a POST that comes without one', async () => {
    await client.burn(EXAMPLES.burn.request as BurnRequest, { credential: new Secret(GOOD_KEY) });
    expect(fake.calls[0]?.call.idempotencyKey).toMatch(/^[0-9a-f-]{36}$/);
  });
});
