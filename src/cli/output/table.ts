/** Rows and sentences as lines of a given width. Addresses, hashes, ids and commands are never shortened or broken, so that they
 * can be copied; a table that does not fit becomes records. cli-table3, cliui and columnify break an address or drop a column. */
import type { OutputStream } from '../context.js';
import { safeLine } from './safe-text.js';

/**
 * A field without a value is omitted; a field without a label continues the one above. A `whole` value is never wrapped, so
 * that it can be copied.
 */
export type Field = readonly [label: string, value: string | number | null | undefined, whole?: 'whole'];

export interface Layout {
  readonly width: number;
  dim(text: string): string;
}

/** No width: the terminal breaks long lines. */
const UNBOUNDED: Layout = { width: Number.POSITIVE_INFINITY, dim: (text) => text };

const GAP = 2;
const OWN_LINE_INDENT = 2;
/** Minimum width of values; a narrower terminal breaks the lines itself. */
const MIN_VALUE_WIDTH = 20;

/** Aligned `label  value` lines. Values wrap between words; a word too long for its column (a signature) has its own line. */
export function fieldLines(fields: readonly Field[], layout: Layout = UNBOUNDED): string[] {
  const clean = fields.flatMap(([name, value, whole]) =>
    value == null ? [] : [[safeLine(name), safeLine(String(value)), whole] as const],
  );
  const labelWidth = Math.max(0, ...clean.map(([name]) => name.length)) + GAP;
  const room = Math.max(MIN_VALUE_WIDTH, layout.width - labelWidth);
  return clean.flatMap(([name, value, whole]) => {
    const [first = '', ...rest] =
      value.length <= room || whole !== undefined ? [value] : wrapText(value, room);
    const below = [...(first.length > room ? [first] : []), ...rest];
    const isApart = first.length > room || first === '';
    const head = isApart ? layout.dim(name.trimEnd()) : `${layout.dim(name.padEnd(labelWidth))}${first}`;
    const lines = below.map((line) =>
      line.length > room ? ownLine(line, layout.width) : `${' '.repeat(labelWidth)}${line}`,
    );
    return name === '' && isApart ? lines : [head, ...lines];
  });
}

/** A line to copy whole; it has no indent if it is wider than the terminal. */
const ownLine = (text: string, width: number): string =>
  text.length + OWN_LINE_INDENT > width ? text : `${' '.repeat(OWN_LINE_INDENT)}${text}`;

/** A word, or a command in backquotes, which stays on one line. */
const WORD = /(?:`[^`]+`|\S)+/g;

const wordsOf = (text: string): readonly string[] => safeLine(text).match(WORD) ?? [];

/** Lines of at most `width`; a longer word has its own line. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of wordsOf(text)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  lines.push(line);
  return lines;
}

/** Indent of continued lines, so that text from outside cannot pass for a line of flywheel's own. */
const HANG = '   ';

export const indented = (indent: string, text: string, width: number): string[] =>
  wrapText(text, Math.max(MIN_VALUE_WIDTH, width - indent.length - HANG.length)).map(
    (line, at) => `${indent}${at === 0 ? '' : HANG}${line}`,
  );

/** Head and text on one line if both fit, else on two. */
export const headed = (
  head: string,
  text: string,
  { width, dim }: Layout,
  paint: (head: string) => string = (same) => same,
): string[] => {
  const clean = safeLine(text);
  const fits = head.length + 1 + clean.length <= width;
  return fits ? [`${paint(head)} ${dim(clean)}`] : [paint(head), dim(ownLine(clean, width))];
};

export type Cell = string | number | boolean | null | undefined;

/** Titles with a field of the item, or what computes the cell. */
export type Columns<Item> = Readonly<Record<string, keyof Item | ((item: Item) => Cell)>>;

export const cellsOf = <Item>(item: Item, columns: Columns<Item>): Cell[] =>
  Object.values(columns).map((cell) => (typeof cell === 'function' ? cell(item) : (item[cell] as Cell)));

interface TableTerms {
  readonly right?: readonly string[];
  readonly wraps?: string;
}

/** Minimum width of the wrapping column; below it the table becomes records. */
const MIN_WRAP_WIDTH = 20;

/** A table with a header. If the width is too small, each row becomes a record with one line per column. */
export function tableLines<Item>(
  items: readonly Item[],
  columns: Columns<Item>,
  width: number,
  { right = [], wraps = '' }: TableTerms = {},
): string[] {
  const titles = Object.keys(columns);
  const rows = items.map((item) => cellsOf(item, columns).map((cell) => safeLine(String(cell ?? ''))));
  const widths = titles.map((title, at) =>
    Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const total = widths.reduce((sum, size) => sum + size + GAP, -GAP);
  const wrapAt = titles.indexOf(wraps);
  if (total > width) {
    const room = wrapAt < 0 ? -1 : (widths[wrapAt] ?? 0) - (total - width);
    const longest = Math.max(
      0,
      ...rows.flatMap((row) => wordsOf(row[wrapAt] ?? '').map(({ length }) => length)),
    );
    if (room < Math.max(MIN_WRAP_WIDTH, longest))
      return rows.flatMap((row, index) => [
        ...(index > 0 ? [''] : []),
        ...fieldLines(
          titles.map((title, at): Field => [title, row[at]]),
          { ...UNBOUNDED, width },
        ),
      ]);
    widths[wrapAt] = room;
  }
  const lineOf = (cells: readonly string[]): string =>
    titles
      .map((title, at) => {
        const [cell = '', size = 0] = [cells[at], widths[at]];
        return right.includes(title) ? cell.padStart(size) : cell.padEnd(size);
      })
      .join(' '.repeat(GAP))
      .trimEnd();
  return [titles, ...rows].flatMap((cells) => {
    const wrapped = wrapAt < 0 ? [''] : wrapText(cells[wrapAt] ?? '', widths[wrapAt] ?? MIN_WRAP_WIDTH);
    return wrapped.map((text, line) =>
      lineOf(cells.map((cell, at) => (at === wrapAt ? text : line === 0 ? cell : ''))),
    );
  });
}

/** A command to copy at the end of a message. Not of an error: its text may come from outside. */
const COMMAND_AT_END = /^(?!error:)(.*:) (flywheel .*)$/;

/** One line; on a terminal that is too narrow, several, with a command at the end on its own line. */
export function sentenceLines(
  text: string,
  { isTTY, columns }: Pick<OutputStream, 'isTTY' | 'columns'>,
): readonly string[] {
  const line = safeLine(text);
  if (!isTTY || line.length <= columns) return [line];
  const [, before, command] = COMMAND_AT_END.exec(line) ?? [];
  if (before === undefined || command === undefined) return indented('', line, columns);
  return [...indented('', before, columns), command];
}

/** Start of a formula in Excel, LibreOffice or Google Sheets: white space may come first, and some locales accept wide signs. */
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/u;
const NUMBER = /^-?\d+(?:\.\d+)?$/;

/** A `'` in front keeps a spreadsheet from running the text (OWASP, CSV injection). Signed numbers stay unchanged. */
function csvCell(cell: Cell): string {
  const text = safeLine(String(cell ?? ''));
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}

/** As CSV (RFC 4180), for spreadsheets. */
export async function csvText<Item>(items: readonly Item[], csv: Columns<Item>): Promise<string> {
  const { stringify } = await import('csv-stringify/sync');
  const rows = items.map((item) => cellsOf(item, csv).map(csvCell));
  return stringify(rows, { header: true, columns: Object.keys(csv) });
}
