/** Splits many rows into few distinct statement sizes. */

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
