/** Store contract: usage of the daily caps. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.js';
import { type UtcDay, utcDay } from '../../../src/values/time.js';
import { aBatch, aBurn, aRequest, DAY, success } from './records.js';

const day = (text: string): UtcDay => text as UtcDay;
const BEFORE = day('2026-01-30');
const AFTER = day('2026-02-01');
const YEARS_LATER = day('2036-01-01');

export function usage(store: () => Store): void {
  describe('usage', () => {
    const used = (on: UtcDay, kind: 'burn' | 'airdrop' = 'burn', except?: string): Promise<bigint> =>
      store().read((tx) => tx.usage.used({ tokenId: 'token-1', day: on, kind }, except));

    it('adds up what has landed, each day and kind on its own', async () => {
      const counter = { tokenId: 'token-1', day: DAY, kind: 'burn' } as const;
      await store().transaction(async (tx) => {
        expect(await tx.usage.latestDay('token-1')).toBeUndefined();
        await tx.usage.addLanded(counter, 18_446_744_073_709_551_000n);
        await tx.usage.addLanded(counter, 615n);
        await tx.usage.addLanded({ ...counter, kind: 'airdrop' }, 3n);
        await tx.usage.addLanded({ ...counter, day: AFTER }, 5n);
      });
      expect([
        await used(DAY),
        await used(DAY, 'airdrop'),
        await used(AFTER),
        await used(BEFORE),
      ]).toStrictEqual([18_446_744_073_709_551_615n, 3n, 5n, 0n]);
      expect(await store().read((tx) => tx.usage.latestDay('token-1'))).toBe(AFTER);
      expect(await store().read((tx) => tx.usage.latestDay('token-2'))).toBeUndefined();
    });

    it('counts a pending burn on its day and on each later one, until it is known', async () => {
      await store().transaction((tx) =>
        tx.burns.insertMany(aRequest(), [aBurn(1, { amount: 7n }), aBurn(2, { amount: 5n })]),
      );
      expect([await used(BEFORE), await used(DAY), await used(YEARS_LATER)]).toStrictEqual([0n, 12n, 12n]);
      expect(await used(DAY, 'airdrop')).toBe(0n);
      await store().transaction((tx) => tx.burns.settleMany([success(1)]));
      expect([await used(DAY), await used(YEARS_LATER)]).toStrictEqual([5n, 5n]);
    });

    it('counts a confirmed burn from its day to that of its block, the later day of both', async () => {
      await store().transaction(async (tx) => {
        await tx.burns.insertMany(
          aRequest(),
          [7n, 5n, 1n].map((amount, at) => aBurn(at + 1, { amount, ...(at === 2 ? { day: AFTER } : {}) })),
        );
        const at = (dateSettled: string) => ({ dateSettled: `${dateSettled}T12:00:00.000Z` });
        await tx.burns.settleMany([
          { ...success(1, 'CONFIRMED'), ...at(DAY) },
          { ...success(2, 'CONFIRMED'), ...at(AFTER) },
          { ...success(3, 'CONFIRMED'), ...at(DAY) },
        ]);
      });
      expect([await used(BEFORE), await used(DAY), await used(AFTER), await used(YEARS_LATER)]).toStrictEqual(
        [0n, 12n, 6n, 0n],
      );
      expect(await store().read((tx) => tx.usage.latestDay('token-1'))).toBe(AFTER);
      await store().transaction((tx) => tx.burns.reopen(aBurn(1)));
      expect([await used(DAY), await used(AFTER), await used(YEARS_LATER)]).toStrictEqual([12n, 13n, 7n]);
    });

    it('counts what is left of a batch on the days it is held, and leaves out that of one batch', async () => {
      const held = { burnLeft: 7n, airdropLeft: 0n, heldFrom: DAY, heldTo: DAY };
      await store().transaction(async (tx) => {
        await tx.batches.insert(aRequest(), aBatch(held), []);
        const open = { ...held, burnLeft: 100n, airdropLeft: 1n, heldTo: null };
        await tx.batches.insert(aRequest(), aBatch({ id: 'batch-2', ...open }), []);
        await tx.batches.insert(aRequest(), aBatch({ id: 'batch-3' }), []);
      });
      expect([await used(BEFORE), await used(DAY), await used(AFTER), await used(YEARS_LATER)]).toStrictEqual(
        [0n, 107n, 100n, 100n],
      );
      expect([await used(DAY, 'burn', 'batch-2'), await used(DAY, 'airdrop')]).toStrictEqual([7n, 1n]);
      expect(await store().read((tx) => tx.usage.latestDay('token-1'))).toBe(DAY);
      await store().transaction((tx) => tx.batches.change('batch-2', { heldFrom: null }));
      expect(await used(YEARS_LATER)).toBe(0n);
    });

    it('accepts burns on a day, with what is used of it, and counts them with their end', async () => {
      const reserved = (today: UtcDay) =>
        store().read(async (tx) => {
          const { day: on, used: before } = await tx.burns.room('token-1', today);
          return [on, before];
        });
      expect(await reserved(DAY)).toStrictEqual([DAY, 0n]);
      await store().transaction((tx) => tx.burns.insertMany(aRequest(), [aBurn(1), aBurn(2)]));
      const { amount } = aBurn(1);
      expect(await reserved(AFTER)).toStrictEqual([AFTER, 2n * amount]);
      await store().transaction(async (tx) => {
        await tx.burns.settleMany([success(1), success(2)]);
        for (const day of [DAY, AFTER])
          await tx.usage.addLanded({ tokenId: 'token-1', kind: 'burn', day }, amount);
      });
      // No entry before the latest day with usage.
      expect([await reserved(DAY), await used(DAY)]).toStrictEqual([[AFTER, amount], amount]);
      const room = await store().read((tx) => tx.burns.room('token-1', utcDay(tx.nowMs)));
      expect(await store().reserve('token-1', 1)).toMatchObject(room);
    });
  });
}
