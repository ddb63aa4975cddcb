/** The base of all repositories: one open transaction, row mapping, inserts, conditional changes and leases. */
import { CamelCasePlugin, type Expression, type Kysely, sql } from 'kysely';
import { invariant } from '../errors/flywheel-error.js';
import { type Column, fromCell, piecesOf } from './columns.js';
import { type Database, quoted } from './ddl.js';
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

/**
 * Burns without a final outcome. SQLite prefers the token's index unless the second column of their own has a condition, hence
 * `day > ''`.
 */
export const OPEN = sql.raw<boolean>(`day > '' and ${OPEN_BURN}`);
export const LANDED = sql.raw<boolean>(LANDED_BURN);

/** One text for all columns: kysely compiles a node for each column slowly. */
export const columnsBut = <Name extends TableName>(name: Name, ...but: readonly (keyof Row<Name>)[]) =>
  sql.raw(
    Object.keys(TABLES[name].columns)
      .filter((column) => !but.includes(column as keyof Row<Name>))
      .map(quoted)
      .join(', '),
  );

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
    const values = piece.map((row) => sql`(${sql.join(named.map((column) => row[column]))})`);
    const { numAffectedRows } = await sql`
      insert into ${sql.table(name)} (${sql.raw(named.map(quoted).join(', '))}) values ${sql.join(values)}
      ${sql.raw(mayBeThere ? 'on conflict do nothing' : '')}`.execute(db);
    inserted += Number(numAffectedRows);
  }
  return inserted;
}

/** Conditions on a time. @param since - inclusive @param until - exclusive */
export const within = (
  column: string,
  { since, until }: { readonly since?: string | undefined; readonly until?: string | undefined },
) => [
  ...given(since, (date) => sql<boolean>`${sql.raw(column)} >= ${date}`),
  ...given(until, (date) => sql<boolean>`${sql.raw(column)} < ${date}`),
];

export const given = <Value, Condition>(
  value: Value | undefined,
  condition: (value: Value) => Condition,
): readonly Condition[] => (value === undefined ? [] : [condition(value)]);

/** A literal for a column with few values, because a partial index serves only a condition that repeats its text. */
const operand = (column: string, value: unknown) =>
  COLUMNS.get(column)?.values === undefined ? sql`${value}` : sql.lit(value);

/** Each column has the value, or one of the values. */
type Expected<Name extends TableName> = {
  readonly [Key in keyof Row<Name>]?: Row<Name>[Key] | readonly Row<Name>[Key][];
};

/** `undefined` is no condition: a filter that was not given. */
type Where<Name extends TableName> = {
  readonly [Key in keyof Row<Name>]?: Expected<Name>[Key] | undefined;
};

export function matching<Name extends TableName>(where: Where<Name>) {
  const conditions = Object.entries(where).flatMap(([column, value]: [string, unknown]) => {
    if (value === undefined) return [];
    if (value === null) return sql`${sql.ref(column)} is null`;
    if (!Array.isArray(value)) return sql`${sql.ref(column)} = ${operand(column, value)}`;
    // PostgreSQL rejects an empty `in ()`.
    if (value.length === 0) return sql`false`;
    return sql`${sql.ref(column)} in (${sql.join(value.map((one) => operand(column, one)))})`;
  });
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`${sql.join(conditions, sql` and `)}`;
}

/** Finds, lists, inserts and changes rows of a table by the values of columns. @param but - columns that are not read */
export const tableOf = <Name extends TableName, But extends keyof Row<Name> = never>(
  session: StoreSession,
  name: Name,
  ...but: readonly But[]
) => {
  const { db } = session;
  /** @param rest - SQL of more conditions, order and limit */
  const list = async (where: Where<Name>, rest = sql``): Promise<readonly Omit<Row<Name>, But>[]> => {
    const query = sql<Omit<Row<Name>, But>>`
      select ${columnsBut(name, ...but)} from ${sql.table(name)} where ${matching(where)} ${rest}`;
    return (await query.execute(db)).rows;
  };
  /** @returns the number of changed rows */
  const changeAll = async (expected: Expected<Name>, change: Partial<Row<Name>>): Promise<number> => {
    const update = db.updateTable<TableName>(name).set(change as object);
    return Number((await update.where(matching<Name>(expected)).executeTakeFirst()).numUpdatedRows);
  };
  return {
    insert: async (row: NewRow<Name>): Promise<void> => void (await insertAll(session, name, [row])),

    find: async (where: Where<Name>, rest = sql``): Promise<Omit<Row<Name>, But> | undefined> =>
      (await list(where, sql`${rest} limit 1`))[0],

    list,

    changeAll,

    /** @returns whether one row matched and was changed */
    changes: async (expected: Expected<Name>, change: Partial<Row<Name>>): Promise<boolean> =>
      (await changeAll(expected, change)) === 1,

    /** Changes the one row that matches. @throws `ERR_INTERNAL` if none does */
    change: async (expected: Expected<Name>, change: Partial<Row<Name>>): Promise<void> =>
      invariant(
        (await changeAll(expected, change)) === 1,
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
