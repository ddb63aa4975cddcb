/** Lists as CSV (RFC 4180), for spreadsheets. */
import { stringify } from 'csv-stringify/sync';
import { safeLine } from './safe-text.js';
import { type Cell, type Columns, cellsOf } from './table.js';

/** Start of a formula in Excel, LibreOffice or Google Sheets: white space may come first, and some locales accept wide signs. */
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/u;
const NUMBER = /^-?\d+(?:\.\d+)?$/;

/** A `'` in front keeps a spreadsheet from running the text (OWASP, CSV injection). Signed numbers stay unchanged. */
function cellText(cell: Cell): string {
  const text = safeLine(String(cell ?? ''));
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}

export const csvText = <Item>(items: readonly Item[], csv: Columns<Item>): string =>
  stringify(
    items.map((item) => cellsOf(item, csv).map(cellText)),
    { header: true, columns: Object.keys(csv) },
  );
