/** What a repository works with: one open transaction whose rows are records. */
import { CamelCasePlugin, type Kysely, sql } from 'kysely';
import { invariant } from '../errors/flywheel-error.js';
import { piecesOf } from '../values/pieces.js';
import { type Column, fromCell } from './columns.js';
import type { Database } from './ddl.js';
import { LANDED_BURN, OPEN_BURN, type Row, TABLES, type TableName, type Tables } from './schema.js';

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

/** All columns of a table but some. */
export const columnsBut = <Name extends TableName, But extends keyof Row<Name>>(
  name: Name,
  ...but: readonly But[]
) =>
  Object.keys(TABLES[name].columns).filter((column) => !but.includes(column as But)) as Exclude<
    keyof Row<Name>,
    But
  >[];

type Optional<Record> = { [Key in keyof Record]: null extends Record[Key] ? Key : never }[keyof Record];
/** A row to be inserted: what may be `null` is where it is left out. */
type NewRow<Name extends TableName> = Omit<Row<Name>, 'ordinal' | Optional<Row<Name>>> &
  Partial<Pick<Row<Name>, Optional<Row<Name>>>>;

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

/** Updates of one row of a table, each of which says how it expects that row to be. */
export const rowOf = <Name extends TableName>({ db }: StoreSession, name: Name) => {
  /** @returns whether there was such a row */
  const changes = async (expected: Partial<Row<Name>>, change: Partial<Row<Name>>): Promise<boolean> => {
    const conditions = Object.entries(expected).map(([column, value]) =>
      value === null ? sql<boolean>`${sql.ref(column)} is null` : sql<boolean>`${sql.ref(column)} = ${value}`,
    );
    const update = db.updateTable<TableName>(name).set(change as object);
    return (await update.where(({ and }) => and(conditions)).executeTakeFirst()).numUpdatedRows === 1n;
  };
  return {
    changes,
    /** @throws `ERR_INTERNAL` with the sentence where there was none */
    async mustChange(
      expected: Partial<Row<Name>>,
      change: Partial<Row<Name>>,
      otherwise: string,
    ): Promise<void> {
      invariant(await changes(expected, change), otherwise);
    },
  };
};

/** Of what nobody works on. */
export const FREE = { holder: null, leaseUntilMs: 0 } as const;

/** Leases on rows of a table: who works on each, under a name of its own for each time that it is taken. */
export function leasesOf(session: StoreSession, table: 'requests' | 'batches') {
  const row = rowOf(session, table);
  return {
    /** Whoever had it; the engine decides whether that lease is over. */
    take: (id: string, lease: { readonly holder: string; readonly leaseUntilMs: number }): Promise<void> =>
      row.mustChange({ id }, lease, `Nothing of ${table} is ${id}.`),

    /** Prolongs a lease. @returns whether it was still held so: another, by whose clock it was over, may have taken it. */
    renew: (id: string, holder: string, leaseUntilMs: number): Promise<boolean> =>
      row.changes({ id, holder }, { leaseUntilMs }),

    /** Gives a lease up, if it is still held so. @returns whether it was. */
    release: (id: string, holder: string): Promise<boolean> => row.changes({ id, holder }, FREE),
  };
}
