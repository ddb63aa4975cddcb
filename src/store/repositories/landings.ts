/** Burns that have landed and are not final yet, and how what a fork has taken back becomes an intent again. */
import { piecesOf } from '../../values/pieces.js';
import type { WatchedLanding } from '../records.js';
import { expectAffected, type Session } from '../session.js';

export const landingRepository = ({ db, database }: Session) => ({
  /** All of them. */
  waiting: async (): Promise<readonly WatchedLanding[]> => {
    const rows = await db
      .selectFrom('burns')
      .select(['sequence', 'requestId', 'tokenId', 'signature', 'watchedSlot'])
      .where('watchedSlot', 'is not', null)
      .orderBy('sequence')
      .execute();
    return rows.map(({ watchedSlot, ...row }) => ({ ...row, slot: watchedSlot ?? 0n }));
  },

  /**
   * Stops watching these, of whichever project, and drops their bytes; one that somebody else has at this very time is left to the
   * next to forget.
   */
  async forget(landings: readonly WatchedLanding[]): Promise<void> {
    for (const piece of piecesOf(landings.map(({ sequence }) => sequence))) {
      const found = db
        .selectFrom('burns')
        .select('sequence')
        .where('sequence', 'in', piece)
        .where('watchedSlot', 'is not', null);
      await db
        .updateTable('burns')
        .set({ watchedSlot: null, transaction: null })
        .where('sequence', 'in', database === 'postgres' ? found.forUpdate().skipLocked() : found)
        .execute();
    }
  },

  /** The burn, which has to be watched, is pending again. */
  async reopenBurn(sequence: number): Promise<void> {
    const { numUpdatedRows } = await db
      .updateTable('burns')
      .set({ status: 'PENDING', dateSettled: null, feeLamports: null, watchedSlot: null })
      .where('sequence', '=', sequence)
      .where('watchedSlot', 'is not', null)
      .executeTakeFirst();
    expectAffected(numUpdatedRows, 1, `There is no burn ${sequence} whose landing is watched.`);
  },
});
