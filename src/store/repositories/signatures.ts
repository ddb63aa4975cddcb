/** Signatures of everything that the store has written down before it was sent, and of what was found to be lost. */
import { sql } from 'kysely';
import { piecesOf } from '../../values/pieces.js';
import type { SignatureRepository } from '../gap-repository.js';
import type { Session } from '../session.js';

const TABLES = ['burns', 'bundle_transactions', 'issued_votes', 'gap_transactions'] as const;

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

  async known(signatures) {
    const known = new Set<string>();
    for (const piece of piecesOf(signatures)) {
      const parts = TABLES.map(
        (table) => sql`select signature from ${sql.table(table)} where signature in (${sql.join(piece)})`,
      );
      const { rows } = await sql<{ signature: string }>`${sql.join(parts, sql` union all `)}`.execute(db);
      for (const { signature } of rows) known.add(signature);
    }
    return known;
  },
});
