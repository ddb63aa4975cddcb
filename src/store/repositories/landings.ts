/** Landings that are not final yet, and how what a fork has taken back becomes an intent again. */
import { sql } from 'kysely';
import { piecesOf } from '../../values/pieces.js';
import type { NewLanding, WatchedLanding } from '../records.js';
import { mustChange, type Session } from '../session.js';

const NOT_WATCHED = { watchedSlot: null, dateLanded: null, feeLamports: null };

export const landingRepository = ({ db, database }: Session) => {
  const burns = async (): Promise<readonly WatchedLanding[]> => {
    const rows = await db
      .selectFrom('burns')
      .select(['sequence', 'requestId', 'tokenId', 'signature', 'watchedSlot'])
      .where('watchedSlot', 'is not', null)
      .orderBy('sequence')
      .execute();
    return rows.map(({ watchedSlot, signature, ...row }) => ({
      ...{ kind: 'burn', ...row, signatures: [signature], slot: watchedSlot ?? 0n },
    }));
  };

  const bundles = async (): Promise<readonly WatchedLanding[]> => {
    const rows = await db
      .selectFrom('bundles')
      .innerJoin('batches', 'batches.id', 'bundles.batchId')
      .innerJoin('bundleTransactions', 'bundleTransactions.bundle', 'bundles.id')
      .select(['bundles.id', 'batchId', 'batches.tokenId', 'phase', 'first', 'signature', 'watchedSlot'])
      .select(['bundles.feeLamports', 'dateLanded'])
      .where('watchedSlot', 'is not', null)
      .orderBy('bundles.ordinal')
      .orderBy('position')
      .execute();
    const found = new Map<string, WatchedLanding>();
    for (const { id, signature, watchedSlot, feeLamports, dateLanded, ...row } of rows)
      found.set(id, {
        ...{ kind: 'bundle', bundleId: id, ...row, slot: watchedSlot ?? 0n },
        ...{ feeLamports: feeLamports ?? 0n, dateLanded: dateLanded ?? '' },
        signatures: [...(found.get(id)?.signatures ?? []), signature],
      });
    return [...found.values()];
  };

  return {
    /** Watches bundles that have landed; burns are watched from their outcome on. */
    async add(landings: readonly NewLanding[]): Promise<void> {
      for (const { bundleId, slot, dateLanded, feeLamports } of landings) {
        await mustChange(
          db
            .updateTable('bundles')
            .set({ watchedSlot: slot, dateLanded, feeLamports })
            .where('id', '=', bundleId)
            .where('status', '=', 'LANDED'),
          `There is no bundle ${bundleId} that has landed.`,
        );
      }
    },

    /** All of them: burns, then bundles in the order in which they were signed. */
    waiting: async (): Promise<readonly WatchedLanding[]> => [...(await burns()), ...(await bundles())],

    /**
     * Stops watching these, of whichever project, and drops the bytes of burns; one that somebody else has at this very time is
     * left to the next to forget.
     */
    async forget(landings: readonly WatchedLanding[]): Promise<void> {
      const free = database === 'postgres' ? sql`for update skip locked` : sql``;
      const burned = landings.flatMap((one) => (one.kind === 'burn' ? [one.sequence] : []));
      for (const piece of piecesOf(burned))
        await sql`update burns set watched_slot = null, "transaction" = null where sequence in (
          select sequence from burns where sequence in (${sql.join(piece)}) and watched_slot is not null ${free})`.execute(
          db,
        );
      const bundled = landings.flatMap((one) => (one.kind === 'bundle' ? [one.bundleId] : []));
      for (const piece of piecesOf(bundled))
        await sql`update bundles set watched_slot = null, date_landed = null, fee_lamports = null where id in (
          select id from bundles where id in (${sql.join(piece)}) ${free})`.execute(db);
    },

    /** The burn, which has to be watched, is pending again. */
    async reopenBurn(sequence: number): Promise<void> {
      await mustChange(
        db
          .updateTable('burns')
          .set({ status: 'PENDING', dateSettled: null, feeLamports: null, watchedSlot: null })
          .where('sequence', '=', sequence)
          .where('watchedSlot', 'is not', null),
        `There is no burn ${sequence} whose landing is watched.`,
      );
    },

    /** The bundle, which has to be watched, is pending again. */
    async reopenBundle(id: string): Promise<void> {
      await mustChange(
        db
          .updateTable('bundles')
          .set({ status: 'PENDING', ...NOT_WATCHED })
          .where('id', '=', id)
          .where('watchedSlot', 'is not', null),
        `There is no bundle ${id} whose landing is watched.`,
      );
    },
  };
};
