/** What a repository works with: one open transaction whose rows are records. */
import { CamelCasePlugin, type Kysely, sql } from 'kysely';
import { invariant } from '../errors/flywheel-error.js';
import { piecesOf } from '../values/pieces.js';
import { type Column, fromCell } from './columns.js';
import type { Database } from './ddl.js';
import {
  LANDED_BURN,
  type NewRow,
  OPEN_BURN,
  type Row,
  TABLES,
  type TableName,
  type Tables,
} from './schema.js';

export interface StoreSession {
  readonly db: Kysely<Tables>;
  /** In PostgreSQL others write at the same time, and a row has a lock of its own. */
  readonly database: Database;
}

const COLUMNS: ReadonlyMap<string, Column> = new Map(
  Object.values(TABLES).flatMap(({ columns }) => Object.entries<Column>(columns)),
);

/** Names in camel case, and the values of columns from their cells. */
export class RecordPlugin extends CamelCasePlugin {
  protected override mapRow(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const record: Record<string, unknown> = {};
    for (const key of Object.keys(row)) {
      // libsql's own, and no column.
      if (key === '_metadata') continue;
      const name = this.camelCase(key);
      const column = COLUMNS.get(name);
      record[name] = column === undefined ? row[key] : fromCell(column, row[key]);
    }
    return record;
  }
}

/** States that partial indexes name: literals, because such an index serves only a condition that is written out. */
export const PENDING = sql.lit('PENDING' as const);
export const CONFIRMED = sql.lit('CONFIRMED' as const);
/**
 * Of burns, beside a state of these. SQLite does not see that one state is among several, and takes the index of open burns rather than
 * that of all of a token only for a condition on its second column.
 */
export const OPEN = sql.raw<boolean>(`day > '' and ${OPEN_BURN}`);
export const LANDED = sql.raw<boolean>(LANDED_BURN);
export const DONE = sql.lit('done' as const);

export const columnsBut = <Name extends TableName, But extends keyof Row<Name>>(
  name: Name,
  ...but: readonly But[]
) =>
  Object.keys(TABLES[name].columns).filter((column) => !but.includes(column as But)) as Exclude<
    keyof Row<Name>,
    But
  >[];

/** Inserts any number of rows; what a record has beside the columns of the table is left out. */
export async function insertAll<Name extends TableName>(
  { db }: StoreSession,
  name: Name,
  rows: readonly NewRow<Name>[],
): Promise<void> {
  const columns = Object.keys(TABLES[name].columns);
  for (const piece of piecesOf(rows as readonly Readonly<Record<string, unknown>>[])) {
    const named = columns.filter((column) => piece[0]?.[column] !== undefined);
    const values = piece.map((row) => Object.fromEntries(named.map((column) => [column, row[column]])));
    await db
      .insertInto(name)
      .values(values as never)
      .execute();
  }
}

/** The condition on what a filter names, and none on what it does not. */
export const given = <Value, Condition>(
  value: Value | undefined,
  condition: (value: Value) => Condition,
): readonly Condition[] => (value === undefined ? [] : [condition(value)]);

/**
 * Rows of a table as the description has them: what only looks up, inserts and changes single rows needs nothing else.
 * @param but - columns that are not read.
 */
export const tableOf = <Name extends TableName, But extends keyof Row<Name> = never>(
  session: StoreSession,
  name: Name,
  ...but: readonly But[]
) => {
  const { db } = session;
  const columns = sql.join(columnsBut(name, ...but).map((column) => sql.ref(column as string)));
  const matching = (values: Partial<Row<Name>>) =>
    sql.join(
      Object.entries(values).map(([column, value]) =>
        value === null ? sql`${sql.ref(column)} is null` : sql`${sql.ref(column)} = ${value}`,
      ),
      sql` and `,
    );
  /** @returns whether there was such a row */
  const changes = async (expected: Partial<Row<Name>>, change: Partial<Row<Name>>): Promise<boolean> => {
    const update = db.updateTable<TableName>(name).set(change as object);
    const { numUpdatedRows } = await update.where(sql<boolean>`${matching(expected)}`).executeTakeFirst();
    return numUpdatedRows === 1n;
  };
  return {
    insert: (row: NewRow<Name>): Promise<void> => insertAll(session, name, [row]),

    find: async (values: Partial<Row<Name>>): Promise<Omit<Row<Name>, But> | undefined> => {
      const query = sql<
        Omit<Row<Name>, But>
      >`select ${columns} from ${sql.table(name)} where ${matching(values)} limit 1`;
      return (await query.execute(db)).rows[0];
    },

    changes,

    /** Changes the one row that is as expected. @throws `ERR_INTERNAL` where none is */
    change: async (expected: Partial<Row<Name>>, change: Partial<Row<Name>>): Promise<void> =>
      invariant(
        await changes(expected, change),
        `No row of ${name} is as expected by ${Object.keys(expected).join(', ')}.`,
      ),
  };
};

/** Of what nobody works on. */
export const FREE = { holder: null, leaseUntilMs: 0 } as const;

/** Leases on rows of a table: who works on each, under a name of its own for each time that it is taken. */
export function leasesOf(session: StoreSession, table: 'requests' | 'batches') {
  const { change, changes } = tableOf(session, table);
  return {
    /** Whoever had it; the engine decides whether that lease is over. */
    take: (id: string, lease: { readonly holder: string; readonly leaseUntilMs: number }): Promise<void> =>
      change({ id }, lease),

    /** Prolongs a lease. @returns whether it was still held so: another, by whose clock it was over, may have taken it. */
    renew: (id: string, holder: string, leaseUntilMs: number): Promise<boolean> =>
      changes({ id, holder }, { leaseUntilMs }),

    /** Gives a lease up, if it is still held so. @returns whether it was. */
    release: (id: string, holder: string): Promise<boolean> => changes({ id, holder }, FREE),
  };
}
