/** Burns, one by one and many at once. */
import { describe, expect, it } from 'vitest';
import type { BurnOutcome } from '../../../src/store/records.js';
import type { Store } from '../../../src/store/store.js';
import { aBurn, CREATED, pending, settled, success } from '../../support/store.js';

/** Burns, one by one and many at once. */
export function burns(store: () => Store): void {
  describe('burns', () => {
    it('gives out rising numbers without gaps, also when a transaction is rolled back', async () => {
      const [first, second] = await store().transaction(async (tx) => [
        await tx.burns.reserveSequences(3),
        await tx.burns.reserveSequences(1),
      ]);
      await store()
        .transaction(async (tx) => {
          await tx.burns.reserveSequences(10);
          throw new RangeError('no');
        })
        .catch(() => undefined);
      expect([first, second, await store().transaction((tx) => tx.burns.reserveSequences(1))]).toStrictEqual([
        1, 4, 5,
      ]);
    });

    it.each([0, 1, 2, 3, 127, 128, 129, 1_000])('inserts and settles %i at once', async (count) => {
      const sequences = Array.from({ length: count }, (_, index) => index + 1);
      await store().transaction((tx) => tx.burns.insertMany(sequences.map((sequence) => aBurn(sequence))));
      expect(await store().read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual(
        sequences.map(pending),
      );
      await store().transaction((tx) => tx.burns.settleMany(sequences.map(success).reverse()));
      expect(await store().read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual(
        sequences.map(settled),
      );
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
        await tx.burns.insertMany([aBurn(1), aBurn(2), aBurn(3)]);
        await tx.burns.settleMany([failed, success(1)]);
      });
      expect(await store().read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual([
        settled(1),
        { ...aBurn(2), ...failed },
        pending(3),
      ]);
    });

    it('refuses to settle a burn twice, and then changes nothing', async () => {
      await store().transaction(async (tx) => {
        await tx.burns.insertMany([aBurn(1), aBurn(2)]);
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

    it('reads a part of a request by index', async () => {
      await store().transaction((tx) => tx.burns.insertMany([aBurn(3), aBurn(1), aBurn(2)]));
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
        await tx.burns.insertMany([aBurn(1)]);
        await tx.burns.resign(1, aBurn(1).signature, signed);
      });
      expect(await store().read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual([
        { ...pending(1), ...signed },
      ]);
      const again = () => store().transaction((tx) => tx.burns.resign(1, signed.signature, signed));
      await store().transaction((tx) => tx.burns.settleMany([success(1)]));
      await expect(again()).rejects.toMatchObject({ code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY' });
    });

    it('is not signed anew by one who still believes in an earlier signature', async () => {
      const first = { signature: 'second', transaction: new Uint8Array([9]), lastValidBlockHeight: 300n };
      const late = { ...first, signature: 'third' };
      await store().transaction((tx) => tx.burns.insertMany([aBurn(1)]));
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
