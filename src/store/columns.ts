/** Kinds of columns for table descriptions, and the mapping between values and cells. */
import type { Generated } from 'kysely';
import { invariant } from '../errors/flywheel-error.js';
import { BASE_UNITS_DIGITS, MAX_BASE_UNITS } from '../values/token-amount.js';

type Kind = 'text' | 'integer' | 'u64' | 'boolean' | 'json' | 'bytes' | 'ordinal';

export interface Column<Value = unknown> {
  readonly kind: Kind;
  readonly isOptional?: boolean;
  readonly values?: readonly string[];
  /** SQL condition on the number, such as `>= 0`. */
  readonly range?: string;
  /** The table that it references. */
  readonly to?: string;
  /** Carries the value's type only; never set at run time. */
  readonly of?: Value;
}

interface Index {
  readonly name: string;
  readonly on: string;
  readonly where?: string;
  readonly isUnique?: boolean;
}

export interface TableDescription<Columns extends Readonly<Record<string, Column>>> {
  readonly columns: Columns;
  readonly key: readonly (keyof Columns & string)[];
  readonly unique?: readonly (readonly (keyof Columns & string)[])[];
  readonly checks?: readonly string[];
  readonly indexes?: readonly Index[];
  readonly isImmutable?: boolean;
  /** Lower for tables with large rows: a full read keeps one page in memory. @default 500 */
  readonly rowsPerPage?: number;
}

export type AnyTable = TableDescription<Readonly<Record<string, Column>>>;

export const text = <Value extends string = string>(): Column<Value> => ({ kind: 'text' });
/** The `id` of a row of the other table, within the same project if both tables have a `tokenId`; or a part of its key. */
export const reference = (to: string): Column<string> => ({ kind: 'text', to });
export const oneOf = <const Value extends string>(...values: Value[]): Column<Value> => ({
  kind: 'text',
  values,
});
/** An integer up to 2^53. @param range - SQL condition */
export const integer = (range?: string): Column<number> => ({ kind: 'integer', ...(range && { range }) });
/** A u64 as text of 20 digits: text order equals numeric order. */
export const u64 = (): Column<bigint> => ({ kind: 'u64' });
export const boolean = (): Column<boolean> => ({ kind: 'boolean' });
export const json = <Value>(): Column<Value> => ({ kind: 'json' });
export const bytes = (): Column<Uint8Array> => ({ kind: 'bytes' });
/** A rising number that the database assigns. */
export const ordinal = (): Column<Generated<number>> => ({ kind: 'ordinal' });
export const optional = <Value>(column: Column<Value>): Column<Value | null> =>
  ({ ...column, isOptional: true }) as Column<Value | null>;

type Cell = string | number | Uint8Array | null;

/** @throws `ERR_INTERNAL` outside of u64 */
function toU64Text(value: bigint): string {
  invariant(value >= 0n && value <= MAX_BASE_UNITS, `Not a u64: ${value}`);
  return value.toString().padStart(BASE_UNITS_DIGITS, '0');
}

export function toCell(value: unknown): Cell {
  if (typeof value === 'bigint') return toU64Text(value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value === null || value === undefined) return null;
  if (typeof value !== 'object' || value instanceof Uint8Array) return value as Cell;
  return JSON.stringify(value);
}

export function fromCell({ kind }: Column, cell: unknown): unknown {
  if (cell === null) return null;
  if (kind === 'u64') return BigInt(cell as string);
  if (kind === 'boolean') return cell === 1;
  if (kind === 'bytes') return new Uint8Array(cell as ArrayBuffer);
  return kind === 'json' ? JSON.parse(cell as string) : cell;
}

/** 18 columns of 128 rows stay below every database's parameter limit. */
const MAX_ROWS = 128;

/** Pieces of 128, 64, … 1 rows: at most eight statements to compile, for any number of rows. */
export function* piecesOf<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let from = 0; from < rows.length; ) {
    const rest = rows.length - from;
    const count = rest >= MAX_ROWS ? MAX_ROWS : 2 ** Math.floor(Math.log2(rest));
    yield rows.slice(from, from + count);
    from += count;
  }
}
