/** Landings that may be taken back, and what is pending again when they are. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { WatchedLanding } from '../../../src/store/records.js';
import type { Store } from '../../../src/store/store.js';
import type { UtcDay } from '../../../src/values/time.js';
import { aBurn, aRequest, success } from '../../support/store.js';

const ofBurn: WatchedLanding = {
  ...{ tokenId: 'token-1', sequence: 1, requestId: 'request-1', signature: 'signature 1', slot: 7n },
};

/** Landings that may be taken back, and what is pending again when they are. */
export function landings(store: () => Store): void {
  describe('landings', () => {
    beforeEach(async () => {
      await store().transaction(async (tx) => {
        await tx.burns.insertMany(aRequest(), [aBurn(1), aBurn(2)]);
        await tx.burns.settleMany([success(1, ofBurn.slot), success(2)]);
      });
    });

    const waiting = () => store().read((tx) => tx.landings.waiting());
    const refused = { code: 'ERR_INTERNAL' };

    it('are told until they are watched no more', async () => {
      expect(await waiting()).toStrictEqual([ofBurn]);
      await store().transaction((tx) => tx.landings.forget([ofBurn]));
      expect(await waiting()).toEqual([]);
    });

    it('let what is watched be pending again, and nothing else', async () => {
      await store().transaction((tx) => tx.landings.reopenBurn(1));
      const [burn, other] = await store().read((tx) => tx.burns.ofRequest('request-1'));
      expect(burn).toMatchObject({ status: 'PENDING', dateSettled: null, signature: 'signature 1' });
      expect(other).toMatchObject({ status: 'SUCCESS' });
      for (const work of [
        (s: Store) => s.transaction((tx) => tx.landings.reopenBurn(2)),
        (s: Store) => s.transaction((tx) => tx.landings.reopenBurn(1)),
      ])
        await expect(work(store())).rejects.toMatchObject(refused);
    });

    it('keep the bytes of a burn until nobody watches it, and let it be signed anew when it is pending again', async () => {
      const bytes = async () =>
        (await store().read((tx) => tx.burns.ofRequest('request-1'))).map(({ transaction }) => transaction);
      const own = aBurn(1).transaction;
      await store().transaction((tx) => tx.landings.reopenBurn(1));
      expect(await bytes()).toStrictEqual([own, null]);
      const signed = { signature: 'anew', transaction: new Uint8Array([7]), lastValidBlockHeight: 9n };
      await store().transaction((tx) => tx.burns.resign(1, 'signature 1', signed));
      expect(await bytes()).toStrictEqual([signed.transaction, null]);
      await store().transaction((tx) => tx.burns.settleMany([success(1, 9n)]));
      expect(await bytes()).toStrictEqual([signed.transaction, null]);
      await store().transaction((tx) => tx.landings.forget([ofBurn]));
      expect(await bytes()).toStrictEqual([null, null]);
    });

    it('keep the request of a burn, and let it run again', async () => {
      await store().transaction(async (tx) => {
        await tx.requests.complete('request-1', '{}');
        for (const day of ['2026-01-03', '2026-01-04', '2026-01-05'])
          await tx.requests.noteDay(day as UtcDay);
        expect(await tx.requests.removeDone(1, 9)).toBe(0);
        await tx.requests.reopen('request-1');
        expect(await tx.requests.get('request-1')).toMatchObject({ status: 'running', reply: null });
      });
      await expect(store().transaction((tx) => tx.requests.remove('request-1'))).rejects.toMatchObject(
        refused,
      );
    });
  });
}
