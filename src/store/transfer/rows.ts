/** Whole tables, row by row and as they are: what a move reads of one database and writes into another. */
import { sql } from 'kysely';
import { invariant } from '../../errors/flywheel-error.js';
import { MIXED_ROWS } from '../one-project.js';
import { readProgress, restoreProgress } from '../progress.js';
import { countOn, executeInPieces, type Session } from '../session.js';
import type { StoreProgress } from '../store.js';
import { AUDIT_LOG, type CopiedTable } from './tables.js';

/** A value of a column, as every driver gives and takes it. */
export type Cell = string | number | Uint8Array | null;

/** The values of a row in the order of its columns. */
export type Cells = readonly Cell[];

/** What a move needs of a database that each says in its own way. */
export interface MoveTerms {
  /** The transaction is not ended because it waits for a slow file. */
  readonly bePatient: (session: Session) => Promise<void>;
  /** Rows are written as they are: no trigger looks at them. @returns what brings the triggers back */
  readonly suspendTriggers: (session: Session) => Promise<() => Promise<void>>;
}

/** Rows past every rule but those that constraints state; for nothing else than moving a whole store. */
export interface RowRepository {
  bePatient(): Promise<void>;
  /** Within this transaction only. @returns what brings them back */
  suspendTriggers(): Promise<() => Promise<void>>;
  count(table: CopiedTable): Promise<number>;
  isEmpty(table: CopiedTable): Promise<boolean>;
  /** All rows in the order of the key, of which never more than a page is in memory. */
  pages(table: CopiedTable): AsyncGenerator<readonly Cells[]>;
  insert(table: CopiedTable, rows: readonly Cells[]): Promise<void>;
  clear(table: CopiedTable): Promise<void>;
  /** Writes a row of the audit log behind those that are there, under a number of its own. */
  appendAudit(cells: Cells): Promise<void>;
  progress(): Promise<StoreProgress>;
  /** Rows that name what is of another project. */
  countMixed(): Promise<number>;
  /** The store has come as far as another had, and is of the same ledger. */
  restoreProgress(progress: StoreProgress): Promise<void>;
}

const columnsOf = (table: CopiedTable): readonly string[] => Object.keys(table.columns);

const keyName = (index: number): string => `key_${index}`;

async function readPage(
  { db }: Session,
  table: CopiedTable,
  after: Cells | undefined,
): Promise<readonly { readonly cells: Cells; readonly key: Cells }[]> {
  const names = columnsOf(table);
  const key = table.key.map((expression) => sql.raw(expression));
  const columns = names.map((name) => {
    const instead = table.instead[name];
    return instead === undefined ? sql.ref(name) : sql`${sql.raw(instead)} as ${sql.ref(name)}`;
  });
  const keys = key.map((expression, index) => sql`${expression} as ${sql.ref(keyName(index))}`);
  const where = after === undefined ? sql`` : sql`where (${sql.join(key)}) > (${sql.join(after)})`;
  const { rows } = await sql<Record<string, Cell>>`select ${sql.join([...columns, ...keys])}
    from ${sql.table(table.name)} ${where} order by ${sql.join(key)} limit ${sql.lit(table.rowsPerPage)}`.execute(
    db,
  );
  return rows.map((row) => ({
    cells: names.map((name) => row[name] ?? null),
    key: table.key.map((_, index) => row[keyName(index)] ?? null),
  }));
}

const insertInto = (session: Session, table: CopiedTable, rows: readonly Cells[]): Promise<number> => {
  const columns = sql.join(columnsOf(table).map((name) => sql.ref(name)));
  return executeInPieces(session, {
    name: `move into ${table.name}`,
    rows,
    parameters: (row) => row,
    build: (piece) =>
      sql`insert into ${sql.table(table.name)} (${columns}) values ${sql.join(
        piece.map((row) => sql`(${sql.join(row)})`),
      )}`.compile(session.db),
  });
};

/** The tables of a session as a move sees them. */
export const rowRepository = (session: Session): RowRepository => ({
  async bePatient() {
    await session.moves?.bePatient(session);
  },

  async suspendTriggers() {
    invariant(session.moves !== undefined, 'The store does not say how it is moved.');
    return session.moves.suspendTriggers(session);
  },

  async count(table) {
    const row = await session.db
      .selectFrom(table.name)
      .select(({ fn }) => fn.countAll().as('count'))
      .executeTakeFirstOrThrow();
    return Number(row.count);
  },

  async isEmpty(table) {
    const { rows } = await sql`select 1 from ${sql.table(table.name)} limit 1`.execute(session.db);
    return rows.length === 0;
  },

  async *pages(table) {
    let after: Cells | undefined;
    for (;;) {
      const page = await readPage(session, table, after);
      if (page.length > 0) yield page.map(({ cells }) => cells);
      if (page.length < table.rowsPerPage) return;
      after = page.at(-1)?.key;
    }
  },

  async insert(table, rows) {
    await insertInto(session, table, rows);
  },

  async clear(table) {
    await session.db.deleteFrom(table.name).execute();
  },

  async appendAudit(cells) {
    const ordinal = await countOn(session, 'audit', 1);
    await insertInto(session, AUDIT_LOG, [[ordinal, ...cells.slice(1)]]);
  },

  progress: () => readProgress(session),
  countMixed: async () => {
    const { rows } = await sql<{ wrong: number | string }>`${sql.raw(MIXED_ROWS)}`.execute(session.db);
    return Number(rows[0]?.wrong);
  },
  restoreProgress: (progress) => restoreProgress(session, progress),
});
