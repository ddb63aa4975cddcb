/** What a repository works with: one open transaction, and the statements that are compiled once for all transactions. */
import type { CompiledQuery, Kysely, QueryResult } from 'kysely';
import { FlywheelError, invariant } from '../errors/flywheel-error.js';
import { piecesOf } from '../values/pieces.js';
import type { KeyWithProject } from './store.js';
import type { CounterName, Tables } from './tables.js';
import type { MoveTerms } from './transfer/rows.js';

/** Gives out the next `count` numbers of a counter. @returns the first of them, from 1. */
export type TakeNumbers = (name: CounterName, count: number) => Promise<number>;

export interface Session {
  /** Does a row have a lock of its own? Else whoever writes is alone with all of them. */
  readonly locksRows: boolean;
  /** Where it is there, numbers are given out by it. */
  readonly numbers?: TakeNumbers;
  readonly db: Kysely<Tables>;
  /** Compiled statements by name; the same for every transaction of a store. */
  readonly compiled: Map<string, CompiledQuery>;
  /** Keys by their hash: the text that stood of each, and what was read of it; the same for every transaction of a store. */
  readonly keys: Map<string, { readonly text: string; readonly found: KeyWithProject }>;
  /** How all of the store is moved, where it can be moved into. */
  readonly moves?: MoveTerms | undefined;
}

/**
 * Runs a multi-row statement over any number of rows, in pieces.
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
  let affected = 0;
  for (const piece of piecesOf(statement.rows)) {
    const name = `${statement.name}/${piece.length}`;
    const query = compileOnce(session, name, () => statement.build(piece));
    const result = await session.db.executeQuery({
      ...query,
      parameters: piece.flatMap(statement.parameters),
    });
    affected += Number(result.numAffectedRows ?? 0n);
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

/** Compiles a statement for all transactions of a store; who runs it says its parameters. */
export function compileOnce<Row>(
  session: Session,
  name: string,
  build: () => CompiledQuery<Row>,
): CompiledQuery<Row> {
  const known = session.compiled.get(name);
  if (known !== undefined) return known as CompiledQuery<Row>;
  const query = { ...build(), parameters: [] };
  session.compiled.set(name, query);
  return query;
}

/**
 * Runs a statement that is compiled once for all transactions of a store.
 *
 * @param parameters - of this time, constants included, in the order in which the statement names them.
 */
export async function executeOnce<Row>(
  session: Session,
  name: string,
  parameters: readonly unknown[],
  build: () => CompiledQuery<Row>,
): Promise<QueryResult<Row>> {
  const query = compileOnce(session, name, () => {
    const built = build();
    const isSame = built.parameters.every((value, at) => value === parameters[at]);
    invariant(isSame && built.parameters.length === parameters.length, `The parameters of "${name}".`);
    return built;
  });
  return session.db.executeQuery({ ...query, parameters });
}

/** {@link TakeNumbers}; what is not used of them is never given out again. */
export async function takeNumbers(session: Session, name: CounterName, count: number): Promise<number> {
  if (session.numbers !== undefined) return session.numbers(name, count);
  return countOn(session, name, count);
}

/** Gives numbers out within the transaction, after which others may: for counters that seldom rise. */
export async function countOn(session: Session, name: CounterName, count: number): Promise<number> {
  const { rows } = await executeOnce(session, 'count on', [count, name], () =>
    session.db
      .updateTable('counters')
      .set((column) => ({ value: column('value', '+', count) }))
      .where('name', '=', name)
      .returning('value')
      .compile(),
  );
  invariant(rows[0] !== undefined, 'Every counter has its row.');
  return Number(rows[0].value) - count + 1;
}

/** @throws `ERR_INTERNAL` with the sentence when a statement did not change the rows it should have. */
export function expectAffected(
  affected: bigint | number | undefined,
  expected: number,
  otherwise: string,
): void {
  if (Number(affected ?? 0) !== expected) throw new FlywheelError('ERR_INTERNAL', otherwise);
}
