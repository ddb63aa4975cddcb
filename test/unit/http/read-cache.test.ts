import { beforeEach, describe, expect, it } from 'vitest';
import type { Service } from '../../../src/contract/service.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { cacheReads } from '../../../src/http/read-cache.js';
import { Secret } from '../../../src/values/secret.js';
import { type FakeService, fakeAuthenticate, fakeService, GOOD_KEY } from '../../support/fake-service.js';

const BATCH_ID = '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11';

describe('cacheReads', () => {
  let fake: FakeService;
  let version: number;
  let logins: number;
  let reads: ReturnType<typeof cacheReads>;

  beforeEach(() => {
    fake = fakeService();
    version = 1;
    logins = 0;
    reads = cacheReads({
      service: fake.service,
      version: () => version,
      authenticate: (credential) => {
        logins += 1;
        return fakeAuthenticate(credential);
      },
    });
  });
  const asked = (): readonly string[] => fake.calls.map(({ operation }) => operation);

  /** A request as the server makes it: authenticated first, with a Secret of its own. */
  const request = async <Value>(
    read: (service: Service, call: { readonly credential: Secret }) => Promise<Value>,
    key = GOOD_KEY,
  ): Promise<readonly [string, Value]> => {
    const credential = new Secret(key);
    const { keyId } = await reads.authenticate(credential);
    return [keyId, await read(reads.service, { credential })];
  };
  const current = (key?: string) => request((service, call) => service.currentBatch(call), key);
  const status = () => request((service, call) => service.getBatch({ batchId: BATCH_ID }, call));

  it('asks once for each question and key while nothing is written', async () => {
    for (let time = 0; time < 3; time += 1) {
      expect((await current())[0]).toBe('key-');
      expect((await current(`${GOOD_KEY}2`))[0]).toBe('key-2');
      await status();
    }
    expect(asked()).toEqual(['currentBatch', 'currentBatch', 'getBatch']);
    expect(logins).toBe(2);
  });

  it('asks again after every write', async () => {
    await current();
    version += 1;
    await current();
    expect([asked().length, logins]).toEqual([2, 2]);
  });

  it('asks again for a key that comes to its end without a write', async () => {
    let isValid = true;
    const ending = cacheReads({
      service: fake.service,
      version: () => version,
      authenticate: async () => {
        if (isValid) return { keyId: 'key-1', validForMs: 1 };
        throw new FlywheelError('ERR_UNAUTHORIZED', 'The API key is missing or not valid.');
      },
    });
    const authenticate = () => ending.authenticate(new Secret(GOOD_KEY));
    await authenticate();
    isValid = false;
    const startMs = performance.now();
    while (performance.now() - startMs < 2) await new Promise(setImmediate);
    await expect(authenticate()).rejects.toMatchObject({ code: 'ERR_UNAUTHORIZED' });
  });

  it('does not keep an answer that a write may have overtaken', async () => {
    fake.answer('currentBatch', () => {
      version += 1;
      return { value: null, meta: { replayed: false } };
    });
    await current();
    fake.answer('currentBatch', () => ({ value: null, meta: { replayed: true } }));
    expect((await current())[1].meta.replayed).toBe(true);
  });

  it('keeps no failure, and never lets a missing key in', async () => {
    fake.answer('getBatch', () => Promise.reject(new Error('not yet')));
    await expect(status()).rejects.toThrow('not yet');
    fake.answer('getBatch', () => ({ value: null, meta: { replayed: false } }));
    await expect(status()).resolves.toBeDefined();
    await expect(reads.authenticate(null)).rejects.toMatchObject({ code: 'ERR_UNAUTHORIZED' });
    await expect(reads.authenticate(new Secret('unknown'))).rejects.toMatchObject({
      code: 'ERR_UNAUTHORIZED',
    });
  });
});
