/** How a store in an SQLite file is moved as a whole. */
import { sql } from 'kysely';
import type { MoveTerms } from '../transfer/rows.js';

export const SQLITE_MOVES: MoveTerms = {
  bePatient: async () => undefined,

  async suspendTriggers({ db }) {
    const { rows } = await sql<{
      name: string;
      sql: string;
    }>`select name, sql from sqlite_master where type = 'trigger'`.execute(db);
    for (const { name } of rows) await sql`drop trigger ${sql.ref(name)}`.execute(db);
    return async () => {
      for (const trigger of rows) await sql.raw(trigger.sql).execute(db);
    };
  },
};
