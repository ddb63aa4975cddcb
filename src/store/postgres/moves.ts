/** How a store in a PostgreSQL database is moved as a whole. */
import { sql } from 'kysely';
import type { MoveTerms } from '../transfer/rows.js';
import { COPIED_TABLES } from '../transfer/tables.js';

/** A transaction that waits for a file or a pipe is given so long. */
const MAX_IDLE_MS = 3_600_000;

export const POSTGRES_MOVES: MoveTerms = {
  async bePatient({ db }) {
    await sql`select set_config('idle_in_transaction_session_timeout', ${String(MAX_IDLE_MS)}, true)`.execute(
      db,
    );
  },

  async suspendTriggers({ db }) {
    const each = async (verb: 'disable' | 'enable'): Promise<void> => {
      for (const { name } of COPIED_TABLES)
        await sql`alter table ${sql.table(name)} ${sql.raw(verb)} trigger user`.execute(db);
    };
    await each('disable');
    return async () => {
      // What is checked at the end is checked now: a table with checks to come is not altered.
      await sql`set constraints all immediate`.execute(db);
      await each('enable');
    };
  },
};
