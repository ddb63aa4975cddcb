/** Signatures of everything that the store has written down before it was sent. */
import type { Session } from '../session.js';
import type { SignatureRepository } from '../store.js';

const TABLES = ['burns', 'bundle_transactions', 'issued_votes'] as const;

export const signatureRepository = ({ db }: Session): SignatureRepository => ({
  async isKnown(signature) {
    for (const table of TABLES) {
      const row = await db
        .selectFrom(table)
        .select('signature')
        .where('signature', '=', signature)
        .executeTakeFirst();
      if (row !== undefined) return true;
    }
    return false;
  },
});
