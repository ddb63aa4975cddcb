/** Landings that may be taken back, and what is pending again when they are. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { WatchedLanding } from '../../../src/store/records.js';
import type { Store } from '../../../src/store/store.js';
import type { UtcDay } from '../../../src/values/time.js';
import { aBatch, aBundle, aBurn, aRequest, LATER, RESULT, success } from '../../support/store.js';

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
        await tx.burns.insertMany(aRequest(), [aBurn(1), aBurn(2)]);
        await tx.burns.settleMany([success(1, LANDED.slot), success(2)]);
        await tx.batches.insert(aRequest(), aBatch(), []);
        await tx.bundles.insertMany([aBundle('one'), aBundle('two', { first: 1 })]);
        await tx.bundles.settle(['one'], { status: 'LANDED' });
        await tx.bundles.settle(['two'], { status: 'LANDED' });
        await tx.landings.add([{ ...LANDED, bundleId: 'one' }]);
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
      await store().transaction((tx) => tx.landings.forget([ofBurn]));
      expect((await waiting()).map(({ kind }) => kind)).toEqual(['bundle']);
      await store().transaction((tx) => tx.landings.forget([ofBurn, ...(bundle ? [bundle] : [])]));
      expect(await waiting()).toEqual([]);
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

    it('let a batch go back only when one of its bundles is pending again', async () => {
      const reopen = (to: 'AVAILABLE_TO_QUEUE' | 'FINALIZED') =>
        store().transaction((tx) => tx.batches.reopen('batch-1', to, LATER));
      await store().transaction(async (tx) => {
        await tx.batches.transition('batch-1', 'FINALIZED', {}, LATER);
        await tx.bundles.insertMany([aBundle('execute', { phase: 'EXECUTE' })]);
        await tx.bundles.settle(['execute'], { status: 'LANDED' });
        await tx.landings.add([{ ...LANDED, bundleId: 'execute' }]);
        await tx.batches.transition('batch-1', 'EXECUTED', { executeResult: RESULT }, LATER);
      });
      await expect(reopen('FINALIZED')).rejects.toMatchObject(refused);
      await store().transaction((tx) => tx.landings.reopenBundle('execute'));
      await expect(reopen('AVAILABLE_TO_QUEUE')).rejects.toMatchObject(refused);
      await reopen('FINALIZED');
      const batch = await store().read((tx) => tx.batches.get('batch-1'));
      expect(batch).toMatchObject({ status: 'FINALIZED', executeResult: null });
      await store().transaction((tx) => tx.landings.reopenBundle('one'));
      await reopen('AVAILABLE_TO_QUEUE');
      await expect(reopen('AVAILABLE_TO_QUEUE')).rejects.toMatchObject(refused);
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
