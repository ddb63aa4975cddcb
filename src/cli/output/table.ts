/**
 * Rows → lines that fit a width. Addresses, hashes and ids are never shortened or broken, so that they can be copied; only
 * columns marked so wrap, and what does not fit turns into records. Packages for tables (cli-table3, cliui, columnify) cut or
 * break an address in 40 columns, or leave a column out, and none has records.
 */
import { safeLine } from './safe-text.js';

/** A label and its value; a value without a label continues the one above. */
export type Field = readonly [label: string, value: string];

const GAP = 2;

/** `label  value` lines with the values aligned. Both are on one line and whole. */
export function fieldLines(
  fields: readonly Field[],
  label: (text: string) => string = (text) => text,
): string[] {
  const clean = fields.map(([name, value]) => [safeLine(name), safeLine(value)] as const);
  const width = Math.max(0, ...clean.map(([name]) => name.length));
  return clean.map(([name, value]) => `${label(name.padEnd(width + GAP))}${value}`.trimEnd());
}

/** Words of a text in lines of at most `width`; a longer word keeps a line of its own. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of safeLine(text).split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  lines.push(line);
  return lines;
}

export interface Column {
  readonly title: string;
  /** The text may be wrapped; at most one column has this. */
  readonly wraps?: boolean;
  readonly align?: 'left' | 'right';
}

/** The least that a wrapping column gets before the table turns into records. */
const MIN_WRAP_WIDTH = 20;

/** A table with a header; when the width does not hold it, one record a row with a line for each column. */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): string[] {
  const clean = rows.map((row) => row.map(safeLine));
  const widths = columns.map((column, at) =>
    Math.max(column.title.length, ...clean.map((row) => (row[at] ?? '').length)),
  );
  const total = widths.reduce((sum, size) => sum + size + GAP, -GAP);
  const wrapAt = columns.findIndex((column) => column.wraps === true);
  if (total > width) {
    const room = wrapAt < 0 ? -1 : (widths[wrapAt] ?? 0) - (total - width);
    if (room < MIN_WRAP_WIDTH) return recordLines(columns, clean);
    widths[wrapAt] = room;
  }
  const header = columns.map((column, at) => pad(column.title, widths[at] ?? 0, column.align));
  return [joinCells(header), ...clean.flatMap((row) => rowLines(columns, row, widths, wrapAt))];
}

const pad = (text: string, size: number, align: Column['align'] = 'left'): string =>
  align === 'right' ? text.padStart(size) : text.padEnd(size);

const joinCells = (cells: readonly string[]): string => cells.join(' '.repeat(GAP)).trimEnd();

function rowLines(
  columns: readonly Column[],
  row: readonly string[],
  widths: readonly number[],
  wrapAt: number,
): string[] {
  const wrapped = wrapAt < 0 ? [''] : wrapText(row[wrapAt] ?? '', widths[wrapAt] ?? MIN_WRAP_WIDTH);
  return wrapped.map((part, line) =>
    joinCells(
      columns.map((column, at) => {
        const text = at === wrapAt ? part : line === 0 ? (row[at] ?? '') : '';
        return pad(text, widths[at] ?? 0, column.align);
      }),
    ),
  );
}

function recordLines(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  return rows.flatMap((row, index) => [
    ...(index > 0 ? [''] : []),
    ...fieldLines(columns.map((column, at): Field => [column.title, row[at] ?? ''])),
  ]);
}
