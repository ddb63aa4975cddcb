/** Many rows, a few statements: how rows are cut into those that one statement writes. */

/** 18 columns of so many rows stay below every database's limit of parameters. */
const MAX_ROWS = 128;

/** Pieces of 128, 64, … 1 rows, so that there are no more than eight statements to compile, however many rows come. */
export function* piecesOf<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let from = 0; from < rows.length; ) {
    const rest = rows.length - from;
    const count = rest >= MAX_ROWS ? MAX_ROWS : 2 ** Math.floor(Math.log2(rest));
    yield rows.slice(from, from + count);
    from += count;
  }
}
