/** Store contract: requests and idempotency. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.js';
import { sha256 } from '../../../src/values/digest.js';
import type { UtcDay } from '../../../src/values/time.js';
import { aBurn, anApiKey, aRequest, success } from './records.js';

const SECOND = { holder: 'holder-2', leaseUntilMs: 5 };

export function requests(store: () => Store): void {
  describe('requests', () => {
    it('refuses a second request with the same key, operation and value, and takes any other', async () => {
      // The key belongs to the project, whichever of its API keys sends it.
      await store().transaction((tx) => tx.apiKeys.insert(anApiKey({ id: 'key-2', hash: sha256('key-2') })));
      const second = aRequest({ id: 'request-2', keyId: 'key-2' });
      expect(await store().transaction((tx) => tx.requests.insert(second))).toBe(false);
      expect(await store().read((tx) => tx.requests.find({ id: 'request-2' }))).toBeUndefined();
      await store().transaction(async (tx) => {
        await tx.requests.insert(aRequest({ id: 'request-2', operation: 'burnBatch' }));
        await tx.requests.insert(aRequest({ id: 'request-3', value: 'idempotency-2' }));
      });
      const found = await store().read((tx) =>
        tx.requests.find({ tokenId: 'token-1', operation: 'burnBatch', value: 'idempotency-1' }),
      );
      expect(found).toStrictEqual(aRequest({ id: 'request-2', operation: 'burnBatch' }));
    });

    it('goes from running to done once, and nobody works on it then', async () => {
      await store().transaction(async (tx) => {
        await tx.requests.take('request-1', SECOND);
        await tx.requests.complete('request-1', '{"ok":true}');
      });
      expect(await store().read((tx) => tx.requests.find({ id: 'request-1' }))).toStrictEqual(
        aRequest({ status: 'done', holder: null, leaseUntilMs: 0, reply: '{"ok":true}' }),
      );
      for (const work of [
        (s: Store) => s.transaction((tx) => tx.requests.complete('request-1', '{}')),
        (s: Store) => s.transaction((tx) => tx.requests.complete('request-9', '{}')),
      ]) {
        await expect(work(store())).rejects.toMatchObject({ code: 'ERR_INTERNAL' });
      }
    });

    it("is given up only by whoever has it, and anybody's then", async () => {
      const release = (holder: string): Promise<boolean> =>
        store().transaction((tx) => tx.requests.release('request-1', holder));
      expect([await release('holder-2'), await release('holder-1')]).toEqual([false, true]);
      expect(await store().read((tx) => tx.requests.find({ id: 'request-1' }))).toMatchObject({
        ...{ holder: null, leaseUntilMs: 0 },
      });
      expect(await store().transaction((tx) => tx.requests.renew('request-1', 'holder-1', 7))).toBe(false);
    });

    it('is prolonged only while it runs, by whoever has it', async () => {
      const renew = (holder: string): Promise<boolean> =>
        store().transaction((tx) => tx.requests.renew('request-1', holder, 7));
      await store().transaction((tx) => tx.requests.take('request-1', SECOND));
      expect([await renew('holder-1'), await renew('holder-2')]).toEqual([false, true]);
      expect((await store().read((tx) => tx.requests.find({ id: 'request-1' })))?.leaseUntilMs).toBe(7);
      await store().transaction((tx) => tx.requests.complete('request-1', '{}'));
      expect(await renew('holder-2')).toBe(false);
    });

    it('is forgotten when it is removed, and its key is free', async () => {
      await store().transaction((tx) => tx.requests.remove('request-1'));
      expect(await store().read((tx) => tx.requests.find({ id: 'request-1' }))).toBeUndefined();
      await store().transaction((tx) => tx.requests.insert(aRequest()));
    });

    it('removes old answers by the days it was in use, but no running request and none whose burns may still move', async () => {
      const day = (number: number): UtcDay => `2026-02-${String(number).padStart(2, '0')}` as UtcDay;
      await store().transaction(async (tx) => {
        await tx.requests.noteDay(day(1));
        await tx.requests.insert(aRequest({ id: 'done', value: 'done', status: 'done', reply: '1' }));
        await tx.requests.insert(aRequest({ id: 'owing', value: 'owing', status: 'done', reply: '2' }));
        await tx.requests.insert(aRequest({ id: 'watched', value: 'watched', status: 'done', reply: '4' }));
        await tx.requests.noteDay(day(2));
        await tx.requests.insert(aRequest({ id: 'young', value: 'young', status: 'done', reply: '3' }));
        await tx.burns.insertMany(aRequest({ id: 'owing' }), [aBurn(1)]);
        await tx.burns.insertMany(aRequest({ id: 'done' }), [aBurn(2)]);
        await tx.burns.insertMany(aRequest({ id: 'watched' }), [aBurn(3)]);
        await tx.burns.settleMany([success(2), success(3, 'CONFIRMED')]);
      });
      // A clock that jumps by years adds one day; a clock set back to a day adds none.
      await store().transaction(async (tx) => {
        for (const noted of [day(1), day(2), '2036-01-01' as UtcDay, day(2)])
          await tx.requests.noteDay(noted);
        expect(await tx.requests.removeDone(2, 9)).toBe(0);
        await tx.requests.noteDay('2036-01-02' as UtcDay);
        expect(await tx.requests.removeDone(2, 0)).toBe(0);
        expect(await tx.requests.removeDone(2, 9)).toBe(1);
      });
      const left = await store().read(async (tx) => [
        await tx.requests.find({ id: 'request-1' }),
        await tx.requests.find({ id: 'done' }),
        await tx.requests.find({ id: 'owing' }),
        await tx.requests.find({ id: 'watched' }),
        await tx.requests.find({ id: 'young' }),
      ]);
      expect(left.map((request) => request?.id)).toStrictEqual([
        'request-1',
        undefined,
        'owing',
        'watched',
        'young',
      ]);
      await store().transaction((tx) => tx.requests.reopen('watched'));
      expect(await store().read((tx) => tx.requests.find({ id: 'watched' }))).toMatchObject({
        status: 'running',
        reply: null,
      });
      for (const id of ['owing', 'watched'])
        await expect(store().transaction((tx) => tx.requests.remove(id))).rejects.toMatchObject({
          code: 'ERR_INTERNAL',
        });
      expect(await store().read((tx) => tx.burns.ofRequest('done'))).toHaveLength(1);
    });
  });
}
