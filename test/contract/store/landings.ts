/** Landings that may be taken back, and what is pending again when they are. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { WatchedLanding } from '../../../src/store/records.js';
import type { Store } from '../../../src/store/store.js';
import type { UtcDay } from '../../../src/values/time.js';
import { aBatch, aBundle, aBurn, LATER, RESULT, success } from '../../support/store.js';

const LANDED = { slot: 7n, dateLanded: '2026-01-02T03:04:05.000Z', feeLamports: 5_000n };
const ofBurn: WatchedLanding = {
  ...{ kind: 'burn', tokenId: 'token-1', sequence: 1, requestId: 'request-1', signatures: ['signature 1'] },
  slot: 7n,
};

/** Landings that may be taken back, and what is pending again when they are. */
export function landings(store: () => Store): void {
  describe('landings', () => {
    beforeEach(async () => {
      await store().transaction(async (tx) => {
        await tx.burns.insertMany([aBurn(1), aBurn(2)]);
        await tx.burns.settleMany([success(1), success(2)]);
        await tx.batches.insert(aBatch());
        await tx.bundles.insertMany([aBundle('one'), aBundle('two', { first: 1 })]);
        await tx.bundles.settle(['one'], { status: 'LANDED' });
        await tx.bundles.settle(['two'], { status: 'LANDED' });
        await tx.landings.add([
          { ...LANDED, sequence: 1 },
          { ...LANDED, bundleId: 'one' },
        ]);
      });
    });

    const waiting = () => store().read((tx) => tx.landings.waiting());
    const refused = { code: 'ERR_INTERNAL' };

    it('are told with all their signatures until they are watched no more', async () => {
      const [burn, bundle, ...more] = await waiting();
      expect(more).toEqual([]);
      expect(burn).toStrictEqual(ofBurn);
      expect(bundle).toMatchObject({ kind: 'bundle', bundleId: 'one', batchId: 'batch-1', ...LANDED });
      expect(bundle?.signatures).toEqual(aBundle('one').transactions.map(({ signature }) => signature));
      expect(await store().transaction((tx) => tx.landings.remove(ofBurn))).toBe(true);
      expect(await store().transaction((tx) => tx.landings.remove(ofBurn))).toBe(false);
      expect((await waiting()).map(({ kind }) => kind)).toEqual(['bundle']);
    });

    it('let what is watched be pending again, and nothing else', async () => {
      await store().transaction(async (tx) => {
        await tx.landings.reopenBurn(1);
        await tx.landings.reopenBundle('one');
      });
      const [burn, other] = await store().read((tx) => tx.burns.ofRequest('request-1'));
      expect(burn).toMatchObject({ status: 'PENDING', dateSettled: null, signature: 'signature 1' });
      expect(other).toMatchObject({ status: 'SUCCESS' });
      const bundles = await store().read((tx) => tx.bundles.ofBatch('batch-1'));
      expect(bundles.map(({ status }) => status)).toEqual(['PENDING', 'LANDED']);
      for (const work of [
        (s: Store) => s.transaction((tx) => tx.landings.reopenBurn(2)),
        (s: Store) => s.transaction((tx) => tx.landings.reopenBurn(1)),
        (s: Store) => s.transaction((tx) => tx.landings.reopenBundle('two')),
      ])
        await expect(work(store())).rejects.toMatchObject(refused);
    });

    it('keep the bytes of a burn until nobody watches it, and let it be signed anew when it is pending again', async () => {
      const bytes = async () =>
        (await store().read((tx) => tx.burns.ofRequest('request-1'))).map(({ transaction }) => transaction);
      const [own, other] = [aBurn(1).transaction, aBurn(2).transaction];
      await store().transaction((tx) => tx.landings.reopenBurn(1));
      expect(await bytes()).toStrictEqual([own, other]);
      const signed = { signature: 'anew', transaction: new Uint8Array([7]), lastValidBlockHeight: 9n };
      await store().transaction((tx) => tx.burns.resign(1, 'signature 1', signed));
      expect(await bytes()).toStrictEqual([signed.transaction, other]);
      await store().transaction((tx) => tx.burns.settleMany([success(1)]));
      await store().transaction((tx) => tx.landings.forget([ofBurn]));
      expect(await bytes()).toStrictEqual([null, other]);
    });

    it('let a batch go back only while one of its bundles is watched', async () => {
      await store().transaction(async (tx) => {
        await tx.batches.transition('batch-1', 'FINALIZED', {}, LATER);
        await tx.batches.transition('batch-1', 'EXECUTED', { executeResult: RESULT }, LATER);
        await tx.landings.reopenBatch('batch-1', 'FINALIZED', LATER);
      });
      const batch = await store().read((tx) => tx.batches.get('batch-1'));
      expect(batch).toMatchObject({ status: 'FINALIZED', executeResult: null });
      await store().transaction(async (tx) => {
        const [, bundle] = await tx.landings.waiting();
        await tx.landings.remove(bundle as WatchedLanding);
      });
      const again = store().transaction((tx) =>
        tx.landings.reopenBatch('batch-1', 'AVAILABLE_TO_QUEUE', LATER),
      );
      await expect(again).rejects.toMatchObject(refused);
    });

    it('keep the request of a burn, and let it run again', async () => {
      await store().transaction(async (tx) => {
        await tx.requests.complete('request-1', '{}');
        for (const day of ['2026-01-03', '2026-01-04', '2026-01-05'])
          await tx.requests.noteDay(day as UtcDay);
        expect(await tx.requests.removeDone(1, 9)).toBe(0);
        await tx.landings.reopenRequest('request-1');
        expect(await tx.requests.get('request-1')).toMatchObject({ status: 'running', reply: null });
      });
      await expect(store().transaction((tx) => tx.requests.remove('request-1'))).rejects.toMatchObject(
        refused,
      );
    });
  });
}
