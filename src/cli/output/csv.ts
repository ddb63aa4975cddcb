/** Lists as CSV (RFC 4180), for spreadsheets. */
import { stringify } from 'csv-stringify/sync';
import { safeLine } from './safe-text.js';

/** A cell; what is absent is empty. */
export type Cell = string | number | boolean | undefined;

/**
 * A header and a line a row. Text that a spreadsheet would take for a formula gets a `'` in front of it.
 * @param columns - names, in the order of the cells.
 */
export const csvText = (columns: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  stringify(
    rows.map((row) => row.map((cell) => (typeof cell === 'string' ? safeLine(cell) : cell))),
    {
      header: true,
      columns: [...columns],
      escape_formulas: true,
      cast: { boolean: String },
    },
  );
