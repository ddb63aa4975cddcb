/** What a repository works with: one open transaction, and the statements that are compiled once for all transactions. */
import type { CompiledQuery, Kysely } from 'kysely';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { CounterName, Tables } from './tables.js';

export interface Session {
  readonly db: Kysely<Tables>;
  /** Compiled statements by name; the same for every transaction of a store. */
  readonly compiled: Map<string, CompiledQuery>;
}

/** Rows of one multi-row statement at most; 18 columns of so many stay below every database's limit of parameters. */
const MAX_ROWS_PER_STATEMENT = 128;

/**
 * Runs a multi-row statement over any number of rows, in pieces of 128, 64, … 1 rows, so that there are no more than eight
 * statements to compile, ever.
 *
 * @param parameters - of one row, in the order in which the statement names them.
 * @param build - the statement for so many rows; only its text is kept.
 * @returns how many rows were affected.
 */
export async function executeInPieces<Row>(
  session: Session,
  statement: {
    readonly name: string;
    readonly rows: readonly Row[];
    readonly parameters: (row: Row) => readonly unknown[];
    readonly build: (rows: readonly Row[]) => CompiledQuery;
  },
): Promise<number> {
  const { rows } = statement;
  let affected = 0;
  for (let from = 0; from < rows.length; ) {
    const count = pieceSize(rows.length - from);
    const piece = rows.slice(from, from + count);
    const query = compileOnce(session, `${statement.name}/${count}`, () => statement.build(piece));
    const result = await session.db.executeQuery({
      ...query,
      parameters: piece.flatMap(statement.parameters),
    });
    affected += Number(result.numAffectedRows ?? 0n);
    from += count;
  }
  return affected;
}

/** Inserts rows that all have the same columns in the same order. */
export async function insertRows<Row extends object>(
  session: Session,
  table: string,
  rows: readonly Row[],
  build: (rows: readonly Row[]) => CompiledQuery,
): Promise<void> {
  await executeInPieces(session, {
    name: `insert into ${table}`,
    rows,
    parameters: (row) => Object.values(row),
    build,
  });
}

const pieceSize = (rest: number): number =>
  rest >= MAX_ROWS_PER_STATEMENT ? MAX_ROWS_PER_STATEMENT : 2 ** Math.floor(Math.log2(rest));

function compileOnce(session: Session, name: string, build: () => CompiledQuery): CompiledQuery {
  const known = session.compiled.get(name);
  if (known !== undefined) return known;
  const query = { ...build(), parameters: [] };
  session.compiled.set(name, query);
  return query;
}

/** Gives out the next `count` numbers of a counter. @returns the first of them, from 1. */
export async function takeNumbers(session: Session, name: CounterName, count: number): Promise<number> {
  const { value } = await session.db
    .updateTable('counters')
    .set((column) => ({ value: column('value', '+', count) }))
    .where('name', '=', name)
    .returning('value')
    .executeTakeFirstOrThrow();
  return Number(value) - count + 1;
}

/** @throws `ERR_INTERNAL` with the sentence when a statement did not change the rows it should have. */
export function expectAffected(
  affected: bigint | number | undefined,
  expected: number,
  otherwise: string,
): void {
  if (Number(affected ?? 0) !== expected) throw new FlywheelError('ERR_INTERNAL', otherwise);
}
