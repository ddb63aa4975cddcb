/** Lists as CSV (RFC 4180), for spreadsheets. */
import { stringify } from 'csv-stringify/sync';
import { safeLine } from './safe-text.js';
import type { Cell, Columns } from './table.js';

/** How a formula begins in Excel, LibreOffice or Google Sheets: also behind blanks, and in the wide forms of some locales. */
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/u;
const NUMBER = /^-?\d+(?:\.\d+)?$/;

/** Text that a spreadsheet would run gets a `'` in front of it (OWASP, CSV injection); a number is none, whatever its sign. */
function cellText(cell: Cell): string {
  const text = safeLine(String(cell ?? ''));
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}

/** A header and a line an item. */
export const csvText = <Item>(items: readonly Item[], csv: Columns<Item>): string =>
  stringify(
    items.map((item) => Object.values(csv).map((cell) => cellText(cell(item)))),
    { header: true, columns: Object.keys(csv) },
  );
