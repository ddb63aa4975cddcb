/** Store contract: burns, one by one and many at once. */
import { describe, expect, it } from 'vitest';
import type { BurnOutcome } from '../../../src/store/records.js';
import type { BurnSumsQuery } from '../../../src/store/repositories/burns.js';
import type { Store, StoreTransaction } from '../../../src/store/store.js';
import { aBurn, aRequest, CREATED, LATER, numbersOf, pending, settled, success } from './records.js';

export function burns(store: () => Store): void {
  describe('burns', () => {
    it('gives out rising numbers, none twice, whether or not they are used', async () => {
      expect([await numbersOf(store(), 3), await numbersOf(store(), 1)]).toStrictEqual([[1, 2, 3], [4]]);
      const many = await Promise.all(Array.from({ length: 20 }, () => numbersOf(store(), 2)));
      expect(many.flat().toSorted((a, b) => a - b)).toStrictEqual(
        Array.from({ length: 40 }, (_, at) => at + 5),
      );
    });

    it.each([0, 1, 2, 3, 127, 128, 129, 1_000])('inserts and settles %i at once', async (count) => {
      const sequences = Array.from({ length: count }, (_, index) => index + 1);
      await store().transaction((tx) =>
        tx.burns.insertMany(
          aRequest(),
          sequences.map((sequence) => aBurn(sequence)),
        ),
      );
      expect(await store().read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual(
        sequences.map(pending),
      );
      await store().transaction((tx) =>
        tx.burns.settleMany(sequences.map((sequence) => success(sequence)).reverse()),
      );
      expect(await store().read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual(
        sequences.map(settled),
      );
    });

    it('lists a part at a time, however many there are and however few are asked for', async () => {
      const all = Array.from({ length: 10_010 }, (_, index) => index + 1);
      await store().transaction((tx) =>
        tx.burns.insertMany(
          aRequest(),
          all.map((sequence) => aBurn(sequence, sequence === 5 ? { proofType: 'WATCH_AD' } : {})),
        ),
      );
      const pageOf = async (filter: Partial<Parameters<StoreTransaction['burns']['list']>[0]>) => {
        const terms = { tokenId: 'token-1', limit: 3, ...filter };
        const { items, next } = await store().read((tx) => tx.burns.list(terms));
        return { found: items.map(({ sequence }) => sequence), next };
      };
      expect(await pageOf({})).toEqual({ found: [10_010, 10_009, 10_008], next: 10_008 });
      expect(await pageOf({ before: 10_008 })).toEqual({ found: [10_007, 10_006, 10_005], next: 10_005 });
      expect(await pageOf({ before: 3 })).toEqual({ found: [2, 1], next: null });
      // None of ten thousand burns has this type; the cursor continues after them.
      const types = ['WATCH_AD'];
      expect(await pageOf({ types })).toEqual({ found: [], next: 11 });
      expect(await pageOf({ types, before: 11 })).toEqual({ found: [5], next: null });
    });

    it('adds up what came to its end, exact beyond 64 bits, by day, type and end', async () => {
      const largest = 2n ** 64n - 1n;
      const ends: readonly Partial<BurnOutcome>[] = [
        {},
        { dateSettled: '2026-02-01T00:00:00.000Z' },
        { status: 'FAILED', errorCode: 'ERR_BURN_TOKENOMICS_FAILED', feeLamports: null },
      ];
      const types = ['PRODUCT_BUY', 'PRODUCT_BUY', 'WATCH_AD', 'PRODUCT_BUY', 'PRODUCT_BUY', 'PRODUCT_BUY'];
      await store().transaction(async (tx) => {
        await tx.burns.insertMany(
          aRequest(),
          types.map((proofType, at) => aBurn(at + 1, { proofType, amount: largest - BigInt(at) })),
        );
        await tx.burns.settleMany(
          [1, 2, 3, 4, 5].map((sequence) => ({ ...success(sequence), ...ends[sequence - 3] })),
        );
      });
      const sums = async (more: Partial<BurnSumsQuery> = {}) =>
        (await store().read((tx) => tx.burns.sums({ tokenId: 'token-1', from: 1, to: 7, ...more }))).map(
          ({ day, type, isLanded, count, amount, feeLamports }) =>
            [day, type, isLanded, count, amount, feeLamports].join(' '),
        );
      const day = LATER.slice(0, 10);
      const bought = `${day} PRODUCT_BUY true 2 ${2n * largest - 1n} 10000`;
      const watched = `${day} WATCH_AD true 1 ${largest - 2n} 5000`;
      const later = `2026-02-01 PRODUCT_BUY true 1 ${largest - 3n} 5000`;
      const failed = `${day} PRODUCT_BUY false 1 ${largest - 4n} 0`;
      expect((await sums()).sort()).toEqual([bought, watched, later, failed].sort());
      expect(await sums({ types: ['WATCH_AD'] })).toEqual([watched]);
      expect(await sums({ types: [] })).toEqual([]);
      const none = { tokenId: 'token-1', limit: 9, types: [] };
      expect(await store().read((tx) => tx.burns.list(none))).toEqual({ items: [], next: null });
      expect(await sums({ from: 3, to: 4 })).toEqual([watched]);
      expect(await sums({ since: '2026-02-01T00:00:00.000Z' })).toEqual([later]);
      expect(await sums({ until: LATER })).toEqual([]);
      expect(await sums({ tokenId: 'token-2' })).toEqual([]);
    });

    it('settles each with its own outcome', async () => {
      const failed: BurnOutcome = {
        sequence: 2,
        status: 'FAILED',
        errorCode: 'ERR_BURN_TOKENOMICS_FAILED',
        errorMessage: "it's too poor; 'quoted' ✗",
        dateSettled: CREATED,
        feeLamports: null,
      };
      await store().transaction(async (tx) => {
        await tx.burns.insertMany(aRequest(), [aBurn(1), aBurn(2), aBurn(3)]);
        await tx.burns.settleMany([failed, success(1)]);
      });
      expect(await store().read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual([
        settled(1),
        { ...aBurn(2), ...failed, transaction: null },
        pending(3),
      ]);
    });

    it('drops the bytes of those that no fork can take back, and of no others', async () => {
      await store().transaction(async (tx) => {
        await tx.burns.insertMany(aRequest(), [aBurn(1), aBurn(2), aBurn(3)]);
        await tx.burns.settleMany([success(1, 'CONFIRMED'), success(2)]);
      });
      expect(await store().read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual([
        { ...settled(1), status: 'CONFIRMED', transaction: aBurn(1).transaction },
        settled(2),
        pending(3),
      ]);
    });

    it('refuses to settle a burn twice, and then changes nothing', async () => {
      await store().transaction(async (tx) => {
        await tx.burns.insertMany(aRequest(), [aBurn(1), aBurn(2)]);
        await tx.burns.settleMany([success(1)]);
      });
      for (const outcomes of [
        [success(2), success(1)],
        [success(2), success(9)],
      ]) {
        await expect(store().transaction((tx) => tx.burns.settleMany(outcomes))).rejects.toMatchObject({
          code: 'ERR_INTERNAL',
        });
      }
      expect(await store().read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual([
        settled(1),
        pending(2),
      ]);
    });

    it('lets a confirmed burn be pending again, of that signature only, and end once', async () => {
      const [first, second] = [aBurn(1), aBurn(2)];
      await store().transaction(async (tx) => {
        await tx.burns.insertMany(aRequest(), [first, second]);
        await tx.burns.settleMany([success(1, 'CONFIRMED'), success(2)]);
      });
      const reopened = (burn: { readonly sequence: number; readonly signature: string }) =>
        store().transaction((tx) => tx.burns.reopen(burn));
      const open = () => store().read((tx) => tx.burns.open('token-1'));
      expect(await open()).toMatchObject([{ sequence: 1, requestId: 'request-1', status: 'CONFIRMED' }]);
      expect(await store().read((tx) => tx.burns.open('token-2'))).toEqual([]);
      expect([await reopened({ ...first, signature: 'another' }), await reopened(second)]).toEqual([
        false,
        false,
      ]);
      expect([await reopened(first), await reopened(first)]).toEqual([true, false]);
      expect(await store().read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual([
        pending(1),
        settled(2),
      ]);
      await store().transaction((tx) => tx.burns.settleMany([success(1, 'CONFIRMED')]));
      const finalize = () =>
        store().transaction((tx) => tx.burns.finalize([first.signature, second.signature, 'another']));
      const { day, amount } = first;
      expect(await finalize()).toEqual([{ day, amount, dateSettled: LATER }]);
      expect(await finalize()).toEqual([]);
      expect([await open(), await reopened(first)]).toEqual([[], false]);
      expect((await store().read((tx) => tx.burns.ofRequest('request-1')))[0]).toStrictEqual(settled(1));
    });

    it('reads a part of a request by index', async () => {
      await store().transaction((tx) => tx.burns.insertMany(aRequest(), [aBurn(3), aBurn(1), aBurn(2)]));
      const parts = await store().read(async (tx) => [
        await tx.burns.ofRequest('request-1', 1),
        await tx.burns.ofRequest('request-1', 0, 1),
        await tx.burns.ofRequest('request-1', 1, 2),
      ]);
      expect(parts).toStrictEqual([[pending(2), pending(3)], [pending(1)], [pending(2)]]);
    });

    it('signs a pending burn anew, and no settled one', async () => {
      const signed = { signature: 'second', transaction: new Uint8Array([9]), lastValidBlockHeight: 300n };
      await store().transaction(async (tx) => {
        await tx.burns.insertMany(aRequest(), [aBurn(1)]);
        await tx.burns.resign(1, aBurn(1).signature, signed);
      });
      expect(await store().read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual([
        { ...pending(1), ...signed },
      ]);
      const again = () => store().transaction((tx) => tx.burns.resign(1, signed.signature, signed));
      await store().transaction((tx) => tx.burns.settleMany([success(1, 'CONFIRMED')]));
      await expect(again()).rejects.toMatchObject({ code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY' });
    });

    it('is not signed anew by one who still believes in an earlier signature', async () => {
      const first = { signature: 'second', transaction: new Uint8Array([9]), lastValidBlockHeight: 300n };
      const late = { ...first, signature: 'third' };
      await store().transaction((tx) => tx.burns.insertMany(aRequest(), [aBurn(1)]));
      const { signature } = aBurn(1);
      await store().transaction((tx) => tx.burns.resign(1, signature, first));
      await expect(store().transaction((tx) => tx.burns.resign(1, signature, late))).rejects.toMatchObject({
        code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY',
      });
      const [burn] = await store().read((tx) => tx.burns.ofRequest('request-1'));
      expect(burn?.signature).toBe('second');
    });
  });
}
