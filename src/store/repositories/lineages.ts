/** On which line of history the store is written. */
import type { LineageRepository } from '../gap-repository.js';
import type { Session } from '../session.js';

export const lineageRepository = ({ db }: Session): LineageRepository => ({
  async current() {
    const { lineage, held_until } = await db
      .selectFrom('progress')
      .select(['lineage', 'held_until'])
      .executeTakeFirstOrThrow();
    return { lineage, heldUntil: held_until === null ? null : BigInt(held_until) };
  },

  async set({ lineage, heldUntil }) {
    await db
      .updateTable('progress')
      .set({ lineage, held_until: heldUntil === null ? null : Number(heldUntil) })
      .where('id', '=', 1)
      .execute();
  },
});
