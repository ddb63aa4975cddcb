/** The counters of the daily caps. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.js';
import type { UtcDay } from '../../../src/values/time.js';
import { DAY } from '../../support/store.js';

/** The counters of the daily caps. */
export function usage(store: () => Store): void {
  describe('usage', () => {
    const counter = { tokenId: 'token-1', day: DAY, kind: 'burn' } as const;

    it('reserves up to the cap and not one unit more', async () => {
      const answers = await store().transaction(async (tx) => [
        await tx.usage.used('token-1', DAY, 'burn'),
        await tx.usage.reserve({ ...counter, amount: 60n, cap: 100n }),
        await tx.usage.reserve({ ...counter, amount: 41n, cap: 100n }),
        await tx.usage.reserve({ ...counter, amount: 40n, cap: 100n }),
        await tx.usage.reserve({ ...counter, amount: 1n, cap: 100n }),
        await tx.usage.reserve({ ...counter, amount: 200n, cap: 150n }),
        await tx.usage.used('token-1', DAY, 'burn'),
      ]);
      expect(answers).toStrictEqual([0n, true, false, true, false, false, 100n]);
    });

    it('counts each day and kind on its own, without a cap to the largest u64', async () => {
      const max = 18_446_744_073_709_551_615n;
      const answers = await store().transaction(async (tx) => [
        await tx.usage.reserve({ ...counter, amount: max, cap: null }),
        await tx.usage.reserve({ ...counter, amount: 1n, cap: null }),
        await tx.usage.reserve({ ...counter, kind: 'airdrop', amount: 1n, cap: null }),
        await tx.usage.reserve({ ...counter, day: '2026-02-01' as UtcDay, amount: 2n, cap: 2n }),
        await tx.usage.used('token-1', DAY, 'burn'),
        await tx.usage.used('token-1', DAY, 'airdrop'),
        await tx.usage.used('token-1', '2026-02-01' as UtcDay, 'burn'),
      ]);
      expect(answers).toStrictEqual([true, false, true, true, max, 1n, 2n]);
    });

    it('gives back what was reserved and never more', async () => {
      await store().transaction(async (tx) => {
        await tx.usage.reserve({ ...counter, amount: 100n, cap: 100n });
        await tx.usage.release({ ...counter, amount: 30n });
        await tx.usage.release({ ...counter, kind: 'airdrop', amount: 0n });
      });
      expect(await store().read((tx) => tx.usage.used('token-1', DAY, 'burn'))).toBe(70n);
      await expect(
        store().transaction((tx) => tx.usage.release({ ...counter, amount: 71n })),
      ).rejects.toMatchObject({ code: 'ERR_INTERNAL' });
      expect(await store().read((tx) => tx.usage.used('token-1', DAY, 'burn'))).toBe(70n);
    });

    it('never passes the cap when many reserve at once', async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, () =>
          store().transaction((tx) => tx.usage.reserve({ ...counter, amount: 3n, cap: 31n })),
        ),
      );
      expect(answers.filter(Boolean)).toHaveLength(10);
      expect(await store().read((tx) => tx.usage.used('token-1', DAY, 'burn'))).toBe(30n);
    });
  });
}
