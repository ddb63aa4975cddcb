/** Checks of columns that migrations share. */

const MAX_U64 = '18446744073709551615';

/** Text of 20 digits that is a u64; compares as numbers do (in PostgreSQL with the collation "C"). */
export const isU64 = (column: string): string =>
  `check (length(${column}) = 20 and ltrim(${column}, '0123456789') = '' and ${column} <= '${MAX_U64}')`;

export const isOneOf = (column: string, values: readonly string[]): string =>
  `check (${column} in (${values.map((value) => `'${value}'`).join(', ')}))`;
