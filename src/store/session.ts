/** The base of all repositories: one open transaction, row mapping, inserts, conditional changes and leases. */
import { CamelCasePlugin, type Expression, type Kysely, sql } from 'kysely';
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
  /** In PostgreSQL other processes write at the same time, and rows are locked one by one. */
  readonly database: Database;
}

const COLUMNS: ReadonlyMap<string, Column> = new Map(
  Object.values(TABLES).flatMap(({ columns }) => Object.entries<Column>(columns)),
);

/** Maps column names to camel case and cells to values. */
export class RecordPlugin extends CamelCasePlugin {
  protected override mapRow(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const record: Record<string, unknown> = {};
    for (const key of Object.keys(row)) {
      // Added by libsql; not a column.
      if (key === '_metadata') continue;
      const name = this.camelCase(key);
      const column = COLUMNS.get(name);
      record[name] = column === undefined ? row[key] : fromCell(column, row[key]);
    }
    return record;
  }
}

/** Literals, because a partial index serves only a condition that repeats its text. */
export const PENDING = sql.lit('PENDING' as const);
export const CONFIRMED = sql.lit('CONFIRMED' as const);
/**
 * For burns; combine with a literal state from above. SQLite does not infer that one state is in the index's list, and prefers the
 * token's index unless the second column has a condition, hence `day > ''`.
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

type WithExpressions<Values> = { readonly [Key in keyof Values]: Values[Key] | Expression<unknown> };

/**
 * Inserts any number of rows. Properties that are not columns of the table are ignored.
 * @param mayBeThere - leave a row out if its unique values are in the table
 * @returns the number of inserted rows
 */
export async function insertAll<Name extends TableName>(
  { db }: StoreSession,
  name: Name,
  rows: readonly (NewRow<Name> | WithExpressions<NewRow<Name>>)[],
  { mayBeThere }: { readonly mayBeThere: boolean } = { mayBeThere: false },
): Promise<number> {
  const columns = Object.keys(TABLES[name].columns);
  let inserted = 0;
  for (const piece of piecesOf(rows as readonly Readonly<Record<string, unknown>>[])) {
    const named = columns.filter((column) => piece[0]?.[column] !== undefined);
    const values = piece.map((row) => Object.fromEntries(named.map((column) => [column, row[column]])));
    const { numInsertedOrUpdatedRows } = await db
      .insertInto(name)
      .values(values as never)
      .$if(mayBeThere, (insert) => insert.onConflict((conflict) => conflict.doNothing()))
      .executeTakeFirst();
    inserted += Number(numInsertedOrUpdatedRows ?? 0);
  }
  return inserted;
}

export const given = <Value, Condition>(
  value: Value | undefined,
  condition: (value: Value) => Condition,
): readonly Condition[] => (value === undefined ? [] : [condition(value)]);

/** A literal for a column with few values, because a partial index serves only a condition that repeats its text. */
const operand = (column: string, value: unknown) =>
  COLUMNS.get(column)?.values === undefined ? sql`${value}` : sql.lit(value);

/** Finds, lists, inserts and changes rows of a table by the values of columns. @param but - columns that are not read */
export const tableOf = <Name extends TableName, But extends keyof Row<Name> = never>(
  session: StoreSession,
  name: Name,
  ...but: readonly But[]
) => {
  const { db } = session;
  const columns = () => sql.join(columnsBut(name, ...but).map((column) => sql.ref(column as string)));
  const matching = (values: Partial<Row<Name>>) =>
    sql.join(
      Object.entries(values).map(([column, value]) =>
        value === null
          ? sql`${sql.ref(column)} is null`
          : sql`${sql.ref(column)} = ${operand(column, value)}`,
      ),
      sql` and `,
    );
  /** @param rest - SQL for order and limit */
  const list = async (values: Partial<Row<Name>>, rest: string): Promise<readonly Omit<Row<Name>, But>[]> => {
    const where = Object.keys(values).length === 0 ? sql`` : sql`where ${matching(values)}`;
    const query = sql<
      Omit<Row<Name>, But>
    >`select ${columns()} from ${sql.table(name)} ${where} ${sql.raw(rest)}`;
    return (await query.execute(db)).rows;
  };
  /** @returns whether a row matched `expected` and was changed */
  const changes = async (expected: Partial<Row<Name>>, change: Partial<Row<Name>>): Promise<boolean> => {
    const update = db.updateTable<TableName>(name).set(change as object);
    const { numUpdatedRows } = await update.where(sql<boolean>`${matching(expected)}`).executeTakeFirst();
    return numUpdatedRows === 1n;
  };
  return {
    insert: async (row: NewRow<Name>): Promise<void> => void (await insertAll(session, name, [row])),

    find: async (values: Partial<Row<Name>>): Promise<Omit<Row<Name>, But> | undefined> =>
      (await list(values, 'limit 1'))[0],

    list,

    changes,

    /** Changes the one row that matches `expected`. @throws `ERR_INTERNAL` if none does */
    change: async (expected: Partial<Row<Name>>, change: Partial<Row<Name>>): Promise<void> =>
      invariant(
        await changes(expected, change),
        `No row of ${name} is as expected by ${Object.keys(expected).join(', ')}.`,
      ),
  };
};

export const FREE = { holder: null, leaseUntilMs: 0 } as const;

/** Leases on rows. Each acquisition has a new holder name, so that an earlier holder's writes fail. */
export function leasesOf(session: StoreSession, table: 'requests' | 'batches') {
  const { change, changes } = tableOf(session, table);
  return {
    /** Takes the lease from any holder. The engine checks first that the old lease is over. */
    take: (id: string, lease: { readonly holder: string; readonly leaseUntilMs: number }): Promise<void> =>
      change({ id }, lease),

    /** Prolongs a lease. @returns `false` if another process took it, by whose clock it was over */
    renew: (id: string, holder: string, leaseUntilMs: number): Promise<boolean> =>
      changes({ id, holder }, { leaseUntilMs }),

    /** Ends the lease if `holder` still has it. @returns whether it did */
    release: (id: string, holder: string): Promise<boolean> => changes({ id, holder }, FREE),
  };
}
