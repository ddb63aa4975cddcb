/** Store contract: batches and their bundles. */
import { describe, expect, it } from 'vitest';
import type { PlannedPipeline } from '../../../src/store/records.js';
import type { Landing } from '../../../src/store/repositories/pipelines.js';
import type { Store, StoreTransaction } from '../../../src/store/store.js';
import { aBatch, aBundle, aCost, aRequest, aVote, CREATED, LATER, RESULT } from './records.js';

const landing = (position: number, signature: string | null, dateLanded: string = LATER): Landing => ({
  ...{ position, signature, dateLanded },
});

export function batches(store: () => Store): void {
  describe('batches', () => {
    it('knows the newest batch that is not final, and how many there are', async () => {
      await store().transaction(async (tx) => {
        for (const id of ['b', 'a', 'c']) await tx.batches.insert(aRequest(), aBatch({ id }), []);
        await tx.batches.transition('c', 'FINALIZED', {}, LATER);
        await tx.batches.transition('c', 'FAILED', { executeResult: RESULT }, LATER);
      });
      const read = await store().read(async (tx) => ({
        current: (await tx.batches.current('token-1'))?.id,
        ofOther: await tx.batches.current('token-2'),
        counts: await tx.batches.countByStatus(),
        unknown: await tx.batches.get('d'),
      }));
      expect(read).toStrictEqual({
        current: 'a',
        ofOther: undefined,
        counts: { AVAILABLE_TO_QUEUE: 2, FINALIZED: 0, EXECUTED: 0, FAILED: 1 },
        unknown: undefined,
      });
    });

    it('adds up what transactions have cost, each of them once, whoever tells it', async () => {
      const [paid, got] = [aCost('paid'), aCost('got', { operatorLamports: -7_000, vaultLamports: -1 })];
      await store().transaction(async (tx) => {
        for (const id of ['batch-1', 'batch-2', 'batch-3'])
          await tx.batches.insert(aRequest(), aBatch({ id }), []);
        await tx.batches.addCosts('batch-1', [paid, got, paid]);
      });
      await store().transaction(async (tx) => {
        await tx.batches.addCosts('batch-1', [{ ...paid, vaultLamports: 0 }]);
        await tx.batches.addCosts('batch-2', [aCost('more'), got]);
      });
      const costs = await store().read(async (tx) => [
        await tx.batches.cost('batch-1'),
        await tx.batches.cost('batch-2'),
        await tx.batches.cost('batch-3'),
      ]);
      expect(costs).toStrictEqual([
        { operatorLamports: -2_000n, vaultLamports: 2_039_279n },
        { operatorLamports: 5_000n, vaultLamports: 2_039_280n },
        { operatorLamports: 0n, vaultLamports: 0n },
      ]);
    });

    it('knows which votes may still land', async () => {
      await store().transaction(async (tx) => {
        await tx.batches.insert(aRequest(), aBatch(), []);
        for (const name of ['vote-1', 'vote-2']) await tx.batches.addVote(aVote(name));
        await tx.batches.endVotes(['vote-1']);
      });
      const [own, all, ofOthers] = await store().read(async (tx) => [
        await tx.batches.openVotes('token-1'),
        await tx.batches.openVotes(),
        await tx.batches.openVotes('token-2'),
      ]);
      expect([own, all, ofOthers]).toStrictEqual([[aVote('vote-2')], [aVote('vote-2')], []]);
    });

    it('marks as landed only what has not landed yet', async () => {
      const [pipeline] = aBatch().pipelines as [PlannedPipeline];
      await store().transaction((tx) =>
        tx.batches.insert(aRequest(), aBatch({ id: 'a', pipelines: [pipeline, pipeline] }), []),
      );
      const landed = async () =>
        (await store().read((tx) => tx.pipelines.list({ batchId: 'a', from: 0, limit: 9 }))).map(
          ({ signature, dateLanded }) => [signature, dateLanded],
        );
      const refused = (work: (tx: StoreTransaction) => Promise<void>) =>
        expect(store().transaction(work)).rejects.toMatchObject({ code: 'ERR_INTERNAL' });
      await store().transaction((tx) => tx.pipelines.land('a', [landing(0, 'first', CREATED)]));
      await refused((tx) => tx.pipelines.land('a', [landing(1, 'second'), landing(0, 'again')]));
      await refused((tx) => tx.pipelines.land('a', [landing(2, 'third')]));
      expect(await landed()).toStrictEqual([
        ['first', CREATED],
        [null, null],
      ]);
      await store().transaction((tx) => tx.pipelines.land('a', [landing(1, null)]));
      expect((await landed())[1]).toStrictEqual([null, LATER]);
    });

    it('knows when one was cancelled and closed, and adds up the rent of all others', async () => {
      await store().transaction(async (tx) => {
        for (const id of ['a', 'b', 'c'])
          await tx.batches.insert(aRequest(), aBatch({ id, setupRentLamports: 5n }), []);
        await tx.batches.transition('a', 'FAILED', { executeResult: RESULT }, LATER);
        await tx.batches.change('a', { dateCancelled: LATER, dateUpdated: LATER });
      });
      expect(await store().read((tx) => tx.batches.rentLamports('token-1'))).toBe(15n);
      await store().transaction((tx) => tx.batches.change('a', { dateClosed: LATER }));
      const read = await store().read(async (tx) => [
        await tx.batches.rentLamports('token-1'),
        await tx.batches.rentLamports('token-2'),
        await tx.batches.get('a'),
      ]);
      expect(read.slice(0, 2)).toStrictEqual([10n, 0n]);
      expect(read[2]).toMatchObject({ dateCancelled: LATER, dateClosed: LATER, dateUpdated: LATER });
    });

    it('refuses to change a batch that is not there', async () => {
      for (const work of [
        (s: Store) => s.transaction((tx) => tx.batches.take('x', { holder: 'holder', leaseUntilMs: 1 })),
        (s: Store) => s.transaction((tx) => tx.batches.addCosts('x', [aCost('paid')])),
        (s: Store) => s.transaction((tx) => tx.batches.transition('x', 'FINALIZED', {}, LATER)),
      ]) {
        await expect(work(store())).rejects.toMatchObject({ code: 'ERR_INTERNAL' });
      }
    });
  });
}

export function bundles(store: () => Store): void {
  describe('bundles', () => {
    it('lists the bundles of a batch by position, without expired ones', async () => {
      const inOrder = [
        aBundle('setup-0'),
        aBundle('setup-1', { first: 4 }),
        aBundle('owner', { phase: 'OWNER_APPROVAL' }),
        aBundle('operator', { phase: 'OPERATOR_APPROVAL' }),
        aBundle('execute-0', { phase: 'EXECUTE' }),
        aBundle('execute-1', { phase: 'EXECUTE', first: 2 }),
        aBundle('close', { phase: 'CLOSE' }),
      ];
      const expired = aBundle('expired', { phase: 'EXECUTE', first: 1 });
      await store().transaction(async (tx) => {
        await tx.batches.insert(aRequest(), aBatch(), []);
        await tx.bundles.insertMany([expired]);
        await tx.bundles.settle([{ ...expired, status: 'EXPIRED' }]);
        await tx.bundles.insertMany([...inOrder].reverse());
        await tx.bundles.insertMany([]);
      });
      const all = await store().read((tx) => tx.bundles.ofBatch('batch-1'));
      expect(new Set(all)).toStrictEqual(new Set(inOrder));
      expect(all.map(({ first }) => first)).toStrictEqual([0, 0, 0, 0, 0, 2, 4]);
      expect(await store().read((tx) => tx.bundles.ofBatch('batch-2'))).toStrictEqual([]);
    });

    it('settles pending bundles once, all of them or none', async () => {
      const [one, two, three] = [
        aBundle('one'),
        aBundle('two', { first: 2 }),
        aBundle('three', { first: 4 }),
      ];
      const landed = (...those: (typeof one)[]) =>
        those.map((each) => ({ ...each, status: 'LANDED' as const }));
      const end = { status: 'FAILED', errorMessage: 'poor', failedTransaction: 1 } as const;
      await store().transaction(async (tx) => {
        await tx.batches.insert(aRequest(), aBatch(), []);
        await tx.bundles.insertMany([one, two, three]);
        await tx.bundles.settle([]);
        await tx.bundles.settle(landed(one));
      });
      for (const refused of [landed(one, three), [{ ...one, status: 'EXPIRED' as const }]])
        await expect(store().transaction((tx) => tx.bundles.settle(refused))).rejects.toMatchObject({
          code: 'ERR_INTERNAL',
        });
      await store().transaction((tx) => tx.bundles.settle([{ ...two, ...end }, ...landed(three)]));
      expect(await store().read((tx) => tx.bundles.ofBatch('batch-1'))).toStrictEqual([
        ...landed(one),
        { ...two, ...end },
        ...landed(three),
      ]);
    });
  });
}
