import { beforeEach, describe, expect, it } from 'vitest';
import { rememberReads } from '../../../src/http/remembered-reads.js';
import { Secret } from '../../../src/values/secret.js';
import { type FakeService, fakeAuthenticate, fakeService, GOOD_KEY } from '../../support/fake-service.js';

const BATCH_ID = '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11';
const call = { credential: new Secret(GOOD_KEY) };
const other = { credential: new Secret(`${GOOD_KEY}2`) };

describe('rememberReads', () => {
  let fake: FakeService;
  let version: number;
  let logins: number;
  let reads: ReturnType<typeof rememberReads>;

  beforeEach(() => {
    fake = fakeService();
    version = 1;
    logins = 0;
    reads = rememberReads({
      service: fake.service,
      version: () => version,
      authenticate: (credential) => {
        logins += 1;
        return fakeAuthenticate(credential);
      },
    });
  });
  const asked = (): readonly string[] => fake.calls.map(({ operation }) => operation);

  it('asks once for each question and key while nothing is written', async () => {
    for (let time = 0; time < 3; time += 1) {
      await reads.service.currentBatch(call);
      await reads.service.currentBatch(other);
      await reads.service.getBatch({ batchId: BATCH_ID }, call);
      expect(await reads.authenticate(call.credential)).toEqual({ keyId: 'key-' });
      expect(await reads.authenticate(other.credential)).toEqual({ keyId: 'key-2' });
    }
    expect(asked()).toEqual(['currentBatch', 'currentBatch', 'getBatch']);
    expect(logins).toBe(2);
  });

  it('asks again after every write', async () => {
    await reads.service.currentBatch(call);
    await reads.authenticate(call.credential);
    version += 1;
    await reads.service.currentBatch(call);
    await reads.authenticate(call.credential);
    expect([asked().length, logins]).toEqual([2, 2]);
  });

  it('does not keep an answer that a write may have overtaken', async () => {
    fake.answer('currentBatch', () => {
      version += 1;
      return { value: null, meta: { replayed: false } };
    });
    await reads.service.currentBatch(call);
    fake.answer('currentBatch', () => ({ value: null, meta: { replayed: true } }));
    expect((await reads.service.currentBatch(call)).meta.replayed).toBe(true);
  });

  it('keeps no failure, and never lets a missing key in', async () => {
    fake.answer('getBatch', () => Promise.reject(new Error('not yet')));
    await expect(reads.service.getBatch({ batchId: BATCH_ID }, call)).rejects.toThrow('not yet');
    fake.answer('getBatch', () => ({ value: null, meta: { replayed: false } }));
    await expect(reads.service.getBatch({ batchId: BATCH_ID }, call)).resolves.toBeDefined();
    await expect(reads.authenticate(null)).rejects.toMatchObject({ code: 'ERR_UNAUTHORIZED' });
    await expect(reads.authenticate(new Secret('unknown'))).rejects.toMatchObject({
      code: 'ERR_UNAUTHORIZED',
    });
  });
});
