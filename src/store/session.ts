/** What a repository works with: one open transaction whose rows are records. */
import { CamelCasePlugin, type Kysely } from 'kysely';
import { FlywheelError } from '../errors/flywheel-error.js';
import { piecesOf } from '../values/pieces.js';
import { type Column, fromCell } from './columns.js';
import type { Database } from './ddl.js';
import { type Row, TABLES, type TableName, type Tables } from './schema.js';

export interface Session {
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

/** Inserts any number of rows; what a record has beside the columns of the table is left out. */
export async function insertAll<Name extends TableName>(
  { db }: Session,
  name: Name,
  rows: readonly Omit<Row<Name>, 'ordinal'>[],
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

/** @throws `ERR_INTERNAL` with the sentence when a statement did not change the rows it should have. */
export function expectAffected(
  affected: bigint | number | undefined,
  expected: number,
  otherwise: string,
): void {
  if (Number(affected ?? 0) !== expected) throw new FlywheelError('ERR_INTERNAL', otherwise);
}
