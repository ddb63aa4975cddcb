/** Burns that have landed and are not final yet, and how what a fork has taken back becomes an intent again. */
import { sql } from 'kysely';
import { piecesOf } from '../../values/pieces.js';
import type { WatchedLanding } from '../records.js';
import { mustChange, type Session } from '../session.js';

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
    const free = database === 'postgres' ? sql`for update skip locked` : sql``;
    for (const piece of piecesOf(landings.map(({ sequence }) => sequence)))
      await sql`update burns set watched_slot = null, "transaction" = null where sequence in (
        select sequence from burns where sequence in (${sql.join(piece)}) and watched_slot is not null ${free})`.execute(
        db,
      );
  },

  /** The burn, which has to be watched, is pending again. */
  reopenBurn: (sequence: number): Promise<void> =>
    mustChange(
      db
        .updateTable('burns')
        .set({ status: 'PENDING', dateSettled: null, feeLamports: null, watchedSlot: null })
        .where('sequence', '=', sequence)
        .where('watchedSlot', 'is not', null),
      `There is no burn ${sequence} whose landing is watched.`,
    ),
});
