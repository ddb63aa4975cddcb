/** Lists as CSV (RFC 4180), for spreadsheets. */
import { stringify } from 'csv-stringify/sync';
import { safeLine } from './safe-text.js';

/** A cell; what is absent is empty. */
export type Cell = string | number | boolean | undefined;

/** How a formula begins in Excel, LibreOffice or Google Sheets: also behind blanks, and in the wide forms of some locales. */
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/u;
const NUMBER = /^-?\d+(?:\.\d+)?$/;

/** Text that a spreadsheet would run gets a `'` in front of it (OWASP, CSV injection); a number is none, whatever its sign. */
function cellText(cell: Cell): string {
  const text = safeLine(String(cell ?? ''));
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}

/**
 * A header and a line a row.
 * @param columns - names, in the order of the cells.
 */
export const csvText = (columns: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  stringify(
    rows.map((row) => row.map(cellText)),
    { header: true, columns: [...columns] },
  );
