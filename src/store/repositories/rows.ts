/** Whole tables, past every rule but those that constraints state; for nothing else than copying a whole store. */
import { sql } from 'kysely';
import { sqlName } from '../ddl.js';
import { describe, TABLE_NAMES, type TableName } from '../schema.js';
import { insertAll, type Session } from '../session.js';

export type AnyRow = Readonly<Record<string, unknown>>;

/** No database is on this line of history: the source of a copy may have gone on. */
const COPIED = 'copy';

export const rowRepository = (session: Session) => {
  const { db, database } = session;
  return {
    async isEmpty(name: TableName): Promise<boolean> {
      const { rows } = await sql`select 1 from ${sql.table(name)} limit 1`.execute(db);
      return rows.length === 0;
    },

    /** All rows in the order of the key, of which never more than a page is in memory. */
    async *pages(name: TableName): AsyncGenerator<readonly AnyRow[]> {
      const { key, rowsPerPage = 500 } = describe(name);
      const keys = sql.join(key.map((column) => sql.ref(column)));
      for (let last: AnyRow | undefined; ; ) {
        const after = last && sql`where (${keys}) > (${sql.join(key.map((column) => last?.[column]))})`;
        const { rows } = await sql<AnyRow>`select * from ${sql.table(name)} ${after ?? sql``}
          order by ${keys} limit ${rowsPerPage}`.execute(db);
        if (rows.length > 0) yield rows;
        if (rows.length < rowsPerPage) return;
        last = rows.at(-1);
      }
    },

    insert: (name: TableName, rows: readonly AnyRow[]): Promise<void> =>
      insertAll(session, name, rows as never),

    clear: async (name: TableName): Promise<void> => void (await db.deleteFrom(name).execute()),

    /** The database has come as far as the other store had, and goes on behind its numbers. */
    async takeOver(genesis: string | null): Promise<void> {
      await db.updateTable('progress').set({ genesis, lineage: COPIED, heldUntil: null }).execute();
      if (database === 'sqlite') {
        await sql`update burn_numbers set last = (select coalesce(max(sequence), 0) from burns)`.execute(db);
        return;
      }
      const goOn = (sequence: ReturnType<typeof sql>, table: TableName, column: string) =>
        sql`select setval(${sequence}, coalesce(max(${sql.ref(column)}), 0) + 1, false) from ${sql.table(table)}`.execute(
          db,
        );
      await goOn(sql`'burn_numbers'`, 'burns', 'sequence');
      for (const table of TABLE_NAMES)
        if ('ordinal' in describe(table).columns)
          await goOn(sql`pg_get_serial_sequence(${sql.lit(sqlName(table))}, 'ordinal')`, table, 'ordinal');
    },
  };
};
