/** Work that is shared among those who carry it on. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.js';
import { aBurn, aRequest, type StoreUnderTest } from '../../support/store.js';

const NOW_MS = 1_000;
const UNTIL_MS = 61_000;

/** Requests that nobody has come to the end of, and who takes which. */
export function unfinished(under: () => StoreUnderTest): void {
  describe('unfinished', () => {
    const terms = { lease: { holder: 'me', leaseUntilMs: UNTIL_MS }, nowMs: NOW_MS, except: [] };
    const take = async (store: Store, more: Partial<typeof terms> | object = {}) =>
      store.transaction((tx) => tx.unfinished.takeBurns({ ...terms, ...more }), { tokenId: null });

    beforeEach(async () => {
      await under().store.transaction(async (tx) => {
        for (const [at, id] of ['a', 'b', 'c'].entries()) {
          await tx.requests.insert(aRequest({ id, value: id, holder: `of ${id}`, leaseUntilMs: at * 2_000 }));
          await tx.burns.insertMany(aRequest({ id }), [aBurn(at + 1, { index: 0 })]);
        }
        // Without pending burns there is nothing to carry on.
        await tx.requests.insert(aRequest({ id: 'none', value: 'none', leaseUntilMs: 0 }));
      });
    });

    it('is taken once it is held no more, and where the clock was set back', async () => {
      const { store } = under();
      const taken = await take(store);
      const request = aRequest({ id: 'a', value: 'a', holder: 'me', leaseUntilMs: UNTIL_MS });
      expect(taken).toStrictEqual({ request, from: 'of a' });
      expect(await store.read((tx) => tx.requests.get('a'))).toStrictEqual(request);
      expect(await take(store)).toBeUndefined();
      const back = { lease: { holder: 'me', leaseUntilMs: 3_999 }, nowMs: 0 };
      expect(await take(store, { ...back, except: ['a'] })).toMatchObject({
        ...{ request: { id: 'c' }, from: 'of c' },
      });
      expect(await take(store, { nowMs: 2_000 })).toMatchObject({ request: { id: 'b' } });
    });

    it('is found and taken of one project, where one is named', async () => {
      const { store } = under();
      expect(await take(store, { tokenId: 'token-2' })).toBeUndefined();
      const found = await store.read(async ({ unfinished: left }) => [
        (await left.burnRequests('token-2')).length,
        (await left.burnRequests('token-1')).length,
        (await left.burnRequests()).length,
      ]);
      expect(found).toEqual([0, 3, 3]);
      expect(await take(store, { tokenId: 'token-1' })).toMatchObject({ request: { id: 'a' } });
    });

    it('is shared: no two take the same, and none waits for who is taking', async () => {
      const { store, openAgain } = under();
      const others = [store, await openAgain(), await openAgain(), await openAgain()];
      const taken = await Promise.all(
        others.map((each, at) =>
          take(each, { lease: { holder: `engine ${at}`, leaseUntilMs: UNTIL_MS }, nowMs: 10_000 }),
        ),
      );
      expect(taken.map((one) => one?.request.id).toSorted()).toEqual(['a', 'b', 'c', undefined]);
    });
  });
}
