/** Store contract: batches and their bundles. */
import { describe, expect, it } from 'vitest';
import type { BurnOutcome, PlannedPipeline } from '../../../src/store/records.js';
import type { Landing, MovedFilter, PipelinesQuery } from '../../../src/store/repositories/pipelines.js';
import type { Store, StoreTransaction } from '../../../src/store/store.js';
import type { Address } from '../../../src/values/address.js';
import { sha256 } from '../../../src/values/digest.js';
import {
  aBatch,
  aBundle,
  aBurn,
  aCost,
  aRequest,
  aVote,
  CREATED,
  INIT_RESULT,
  LATER,
  RESULT,
  success,
} from '../../support/store.js';

const anOutcome = (sequence: number, dateSettled: string): BurnOutcome => ({
  ...{ ...success(sequence), dateSettled, feeLamports: null },
});

const landing = (position: number, signature: string | null, dateLanded: string = LATER): Landing => ({
  ...{ position, signature, dateLanded },
});

export function batches(store: () => Store): void {
  describe('batches', () => {
    it('keeps everything that is set on the way from init to execution', async () => {
      await store().transaction(async (tx) => {
        await tx.batches.insert(aRequest(), aBatch(), []);
        expect(await tx.batches.get('batch-1')).toStrictEqual(aBatch());
        await tx.batches.change('batch-1', { batchIndex: 7n, dateUpdated: LATER });
        await tx.batches.change('batch-1', { initResult: { ...INIT_RESULT, failedTxMsg: 'slow' } });
        await tx.batches.addVote(aVote('vote-1'));
        await tx.batches.addVote(aVote('vote-1'));
        await tx.batches.addVote(aVote('vote-2', { kind: 'cancel', lastValidBlockHeight: 300n }));
        await tx.batches.transition('batch-1', 'FINALIZED', { initResult: INIT_RESULT }, LATER);
        await tx.batches.take('batch-1', { holder: 'holder-1', leaseUntilMs: 99 });
      });
      const finalized = aBatch({
        status: 'FINALIZED',
        batchIndex: 7n,
        initResult: INIT_RESULT,
        holder: 'holder-1',
        leaseUntilMs: 99,
        dateUpdated: LATER,
      });
      expect(await store().read((tx) => tx.batches.get('batch-1'))).toStrictEqual(finalized);
      expect(await store().read((tx) => tx.batches.votes('batch-1'))).toStrictEqual([
        aVote('vote-1'),
        aVote('vote-2', { kind: 'cancel', lastValidBlockHeight: 300n }),
      ]);
      await store().transaction(async (tx) => {
        await tx.batches.release('batch-1', 'holder-1');
        await tx.batches.transition('batch-1', 'EXECUTED', { executeResult: RESULT }, LATER);
      });
      expect(await store().read((tx) => tx.batches.get('batch-1'))).toStrictEqual({
        ...finalized,
        status: 'EXECUTED',
        executeResult: RESULT,
        holder: null,
        leaseUntilMs: 0,
      });
    });

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

    it('lists them newest first, by status and time, page after page', async () => {
      await store().transaction(async (tx) => {
        for (const [id, day] of [
          ['a', '2026-01-01'],
          ['b', '2026-01-02'],
          ['c', '2026-01-03'],
          ['d', '2026-01-03'],
        ] as const)
          await tx.batches.insert(aRequest(), aBatch({ id, dateCreated: `${day}T00:00:00.000Z` }), []);
        await tx.batches.transition('c', 'FAILED', { executeResult: RESULT }, LATER);
      });
      const list = (more: object): Promise<readonly string[]> =>
        store().read(async (tx) =>
          (await tx.batches.list({ tokenId: 'token-1', limit: 10, ...more })).items.map(({ id }) => id),
        );
      expect(await list({})).toStrictEqual(['d', 'c', 'b', 'a']);
      expect(await list({ limit: 2 })).toStrictEqual(['d', 'c']);
      expect(await list({ before: 3 })).toStrictEqual(['b', 'a']);
      expect(await list({ status: 'FAILED' })).toStrictEqual(['c']);
      const since = '2026-01-02T00:00:00.000Z';
      expect(await list({ since })).toStrictEqual(['d', 'c', 'b']);
      expect(await list({ until: since })).toStrictEqual(['a']);
      expect(await list({ tokenId: 'token-2' })).toStrictEqual([]);
    });

    it('finds them by what their pipelines hold and by what they sent, few at a time', async () => {
      const [pipeline] = aBatch().pipelines as [PlannedPipeline];
      const burn = { kind: 'BURN', amount: 1n, recipient: null } as const;
      const airdrop = { kind: 'AIRDROP', amount: 2n, recipient: 'recipient' as Address } as const;
      const memo = { kind: 'MEMO', amount: null, recipient: null } as const;
      const other = { ...pipeline, type: 'OTHER', proofHash: sha256('other') };
      await store().transaction(async (tx) => {
        const both = aBatch({ id: 'a', pipelines: [pipeline, other] });
        await tx.batches.insert(aRequest(), both, [[burn], [airdrop, airdrop]]);
        await tx.batches.insert(aRequest(), aBatch({ id: 'b' }), [[burn, memo]]);
        for (let at = 0; at < 8; at += 1) await tx.batches.insert(aRequest(), aBatch({ id: `c${at}` }), []);
        await tx.bundles.insertMany([aBundle('one', { batchId: 'b' })]);
      });
      const all = async (
        filter: Partial<Parameters<StoreTransaction['batches']['list']>[0]>,
      ): Promise<readonly string[]> => {
        const found: string[] = [];
        for (let before: number | null = 1_000; before !== null; ) {
          const asked = { tokenId: 'token-1', limit: 10, before, ...filter };
          const page: Awaited<ReturnType<StoreTransaction['batches']['list']>> = await store().read((tx) =>
            tx.batches.list(asked),
          );
          found.push(...page.items.map(({ id }) => id));
          before = page.next;
        }
        return found;
      };
      expect(await all({ holds: { action: 'AIRDROP' } })).toStrictEqual(['a']);
      expect(await all({ holds: { toAddress: 'recipient' } })).toStrictEqual(['a']);
      expect(await all({ holds: { toAddress: 'RECIPIENT' } })).toStrictEqual([]);
      expect(await all({ holds: { type: 'OTHER', action: 'BURN' } })).toStrictEqual(['a']);
      expect(await all({ holds: { type: 'PRODUCT_BUY', action: 'MEMO' } })).toStrictEqual(['b']);
      expect(await all({ holds: { proofHashes: [pipeline.proofHash] } })).toHaveLength(10);
      expect(await all({ holds: { proofHashes: [sha256('none'), other.proofHash] } })).toStrictEqual(['a']);
      expect(await all({ txHash: 'one/1' })).toStrictEqual(['b']);
      expect(await all({ txHash: 'one' })).toStrictEqual([]);
      const positions = (asked: Partial<PipelinesQuery>) =>
        store().read(async (tx) =>
          (await tx.pipelines.list({ batchId: 'a', from: 0, limit: 10, ...asked })).map(
            ({ position }) => position,
          ),
        );
      expect(await positions({})).toStrictEqual([0, 1]);
      expect(await positions({ from: 1 })).toStrictEqual([1]);
      expect(await positions({ toAddress: 'recipient' })).toStrictEqual([1]);
      expect(await positions({ hasLanded: true })).toStrictEqual([]);
      await store().transaction((tx) => tx.pipelines.land('a', [landing(1, 'landed')]));
      expect(await positions({ hasLanded: true })).toStrictEqual([1]);
      expect(await positions({ hasLanded: false })).toStrictEqual([0]);
      expect(await positions({ txHash: 'landed' })).toStrictEqual([1]);
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

    it('tells everything that has moved, newest first, whoever asked for it', async () => {
      const [pipeline] = aBatch().pipelines as [PlannedPipeline];
      const other = { ...pipeline, type: 'OTHER', proofHash: sha256('other') };
      const burn = { kind: 'BURN', amount: 1n, recipient: null } as const;
      const airdrop = (amount: bigint) =>
        ({ kind: 'AIRDROP', amount, recipient: 'recipient' as Address }) as const;
      const memo = { kind: 'MEMO', amount: null, recipient: null } as const;
      await store().transaction(async (tx) => {
        await tx.burns.insertMany(aRequest(), [aBurn(1), aBurn(2), aBurn(3)]);
        await tx.burns.settleMany([anOutcome(1, '2026-01-02'), anOutcome(2, '2026-01-05')]);
        const batch = aBatch({ id: 'a', pipelines: [pipeline, other, pipeline] });
        await tx.batches.insert(aRequest(), batch, [[burn, memo], [airdrop(5n), airdrop(7n)], [burn]]);
        await tx.pipelines.land('a', [landing(0, 'first', '2026-01-03'), landing(1, null, '2026-01-04')]);
      });
      const moved = (filter: Partial<MovedFilter> = {}) =>
        store().read((tx) => tx.pipelines.moved({ tokenId: 'token-1', limit: 10, ...filter }));
      const all = await moved();
      expect(all.map(({ kind, date, amount }) => [kind, date, amount])).toStrictEqual([
        ['BURN', '2026-01-05', aBurn(2).amount],
        ['AIRDROP', '2026-01-04', 7n],
        ['AIRDROP', '2026-01-04', 5n],
        ['BURN', '2026-01-03', 1n],
        ['BURN', '2026-01-02', aBurn(1).amount],
      ]);
      expect(all[1]).toMatchObject({
        ...{ type: 'OTHER', proofHash: other.proofHash, recipient: 'recipient' },
        ...{ signature: null, batchId: 'a' },
      });
      expect(all[3]).toMatchObject({ signature: 'first', batchId: 'a' });
      expect(all[4]).toMatchObject({ signature: aBurn(1).signature, batchId: null, recipient: null });
      const pages = [];
      for (let before: MovedFilter['before']; pages.length < all.length; ) {
        const [one] = await moved({ limit: 1, before });
        pages.push(one);
        before = one && { date: one.date, ...one.place };
      }
      expect(pages).toStrictEqual(all);
      const places = async (filter: Partial<MovedFilter>) =>
        (await moved(filter)).map((one) =>
          all.findIndex(
            (any) =>
              any.place.id === one.place.id &&
              any.place.position === one.place.position &&
              any.place.number === one.place.number,
          ),
        );
      expect(await places({ kind: 'BURN' })).toStrictEqual([0, 3, 4]);
      expect(await places({ kind: 'AIRDROP' })).toStrictEqual([1, 2]);
      expect(await places({ recipient: 'recipient' })).toStrictEqual([1, 2]);
      expect(await places({ types: ['OTHER'] })).toStrictEqual([1, 2]);
      expect(await places({ types: [] })).toStrictEqual([]);
      expect(await places({ proofHashes: [pipeline.proofHash] })).toContain(3);
      expect(await places({ since: '2026-01-03', until: '2026-01-05' })).toStrictEqual([1, 2, 3]);
      expect(await places({ signature: 'first' })).toStrictEqual([3]);
      expect(await places({ signature: aBurn(2).signature })).toStrictEqual([0]);
      expect(await places({ signature: 'unknown' })).toStrictEqual([]);
      expect(await places({ batchId: 'a' })).toStrictEqual([1, 2, 3]);
      expect(await places({ batchId: 'a', kind: 'BURN' })).toStrictEqual([3]);
      expect(await places({ batchId: 'a', signature: aBurn(2).signature })).toStrictEqual([]);
      expect(await places({ recipient: 'recipient', batchId: 'b' })).toStrictEqual([]);
      expect(await moved({ tokenId: 'token-2' })).toStrictEqual([]);
      expect(await moved({ tokenId: 'token-2', batchId: 'a' })).toStrictEqual([]);
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
      expect(await store().read((tx) => tx.batches.rentLamports('flywheel-1'))).toBe(15n);
      await store().transaction((tx) => tx.batches.change('a', { dateClosed: LATER }));
      const read = await store().read(async (tx) => [
        await tx.batches.rentLamports('flywheel-1'),
        await tx.batches.rentLamports('flywheel-2'),
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
    it('lists the bundles of a batch by phase and position, without expired ones', async () => {
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
      const some = await store().read((tx) => tx.bundles.ofBatch('batch-1', ['EXECUTE', 'CLOSE']));
      expect(new Set(some)).toStrictEqual(new Set(inOrder.slice(4)));
      expect(await store().read((tx) => tx.bundles.ofBatch('batch-1', ['CANCEL']))).toStrictEqual([]);
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
