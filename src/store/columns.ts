/** What a table may be described with: kinds of columns, and how a value of each stands in a cell. */
import type { Generated } from 'kysely';
import { invariant } from '../errors/flywheel-error.js';
import { BASE_UNITS_DIGITS, MAX_BASE_UNITS } from '../values/token-amount.js';

type Kind = 'text' | 'integer' | 'u64' | 'boolean' | 'json' | 'bytes' | 'ordinal';

export interface Column<Value = unknown> {
  readonly kind: Kind;
  readonly isOptional?: boolean;
  readonly values?: readonly string[];
  /** What a number has to be, in SQL. */
  readonly range?: string;
  /** The type of its values; there is no such value. */
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
  readonly references?: readonly {
    readonly columns: readonly (keyof Columns & string)[];
    readonly to: string;
    /** Is it looked at when the transaction ends? */
    readonly isDeferred?: boolean;
  }[];
  readonly checks?: readonly string[];
  readonly indexes?: readonly Index[];
  /** Is a row never changed or removed? */
  readonly isImmutable?: boolean;
  /** Few where rows may be large, so that never much is in memory when all are read. @default 500 */
  readonly rowsPerPage?: number;
}

export type AnyTable = TableDescription<Readonly<Record<string, Column>>>;

export const text = <Value extends string = string>(): Column<Value> => ({ kind: 'text' });
export const oneOf = <const Value extends string>(...values: Value[]): Column<Value> => ({
  kind: 'text',
  values,
});
/** Up to 2^53. @param range - what it has to be, in SQL. */
export const integer = (range?: string): Column<number> => ({ kind: 'integer', ...(range && { range }) });
/** A u64: text of 20 digits, which compares as numbers do. */
export const u64 = (): Column<bigint> => ({ kind: 'u64' });
export const boolean = (): Column<boolean> => ({ kind: 'boolean' });
export const json = <Value>(): Column<Value> => ({ kind: 'json' });
export const bytes = (): Column<Uint8Array> => ({ kind: 'bytes' });
/** A rising number that the database gives. */
export const ordinal = (): Column<Generated<number>> => ({ kind: 'ordinal' });
export const optional = <Value>(column: Column<Value>): Column<Value | null> =>
  ({ ...column, isOptional: true }) as Column<Value | null>;

type Cell = string | number | Uint8Array | null;

/** A u64 as 20 digits. @throws `ERR_INTERNAL` outside of u64. */
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
