/** Rows and sentences → lines that fit a width. Addresses, hashes, ids and commands are never shortened or broken, so that they can be copied; only
 * one column may wrap, and what does not fit turns into records. Packages for tables (cli-table3, cliui, columnify) cut or
 * break an address in 40 columns, or leave a column out, and none has records. */
import type { OutputStream } from '../context.js';
import { safeLine } from './safe-text.js';

/**
 * A label and its value; what has no value is left out, and a value without a label continues the one above. A whole one is to be
 * copied and is not wrapped.
 */
export type Field = readonly [label: string, value: string | number | null | undefined, whole?: 'whole'];

/** What a block is laid out for. */
export interface Layout {
  /** Columns. */
  readonly width: number;
  /** How labels look. */
  dim(text: string): string;
}

/** A layout without a width of its own: what does not fit is left to the terminal. */
const UNBOUNDED: Layout = { width: Number.POSITIVE_INFINITY, dim: (text) => text };

const GAP = 2;
/** How far a word is moved in that has a line of its own. */
const OWN_LINE_INDENT = 2;
/** The least that values get beside their labels; a narrower terminal has to break them. */
const MIN_VALUE_WIDTH = 20;

/**
 * `label  value` lines with the values aligned. A value that does not fit goes on below itself; no word is broken: one that is
 * too long for its column, such as a signature, stands on a line of its own.
 */
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

/** A line for something that is to be copied whole; where it is longer than the terminal is wide, it begins at the edge. */
const ownLine = (text: string, width: number): string =>
  text.length + OWN_LINE_INDENT > width ? text : `${' '.repeat(OWN_LINE_INDENT)}${text}`;

/** A word, or what stands in backquotes and is to be copied as it is. */
const WORD = /(?:`[^`]+`|\S)+/g;

const wordsOf = (text: string): readonly string[] => safeLine(text).match(WORD) ?? [];

/** Words of a text in lines of at most `width`; a longer word keeps a line of its own. */
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

/** How much further in a text goes on that does not fit its line: what somebody wrote can then not pass for a line of ours. */
const HANG = '   ';

/** A text behind an indent, in lines of at most `width`; those after the first are further in. */
export const indented = (indent: string, text: string, width: number): string[] =>
  wrapText(text, Math.max(MIN_VALUE_WIDTH, width - indent.length - HANG.length)).map(
    (line, at) => `${indent}${at === 0 ? '' : HANG}${line}`,
  );

/** A head with something long behind it, which stands on a line of its own where both do not fit. */
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

/** A cell; what is absent is empty. */
export type Cell = string | number | boolean | null | undefined;

/** The columns of a list by their names, in order. */
export type Columns<Item> = Readonly<Record<string, (item: Item) => Cell>>;

/** Columns that are not as others: those of numbers, and one whose text may be wrapped. */
interface TableTerms {
  readonly right?: readonly string[];
  readonly wraps?: string;
}

/** The least that a wrapping column gets before the table turns into records. */
const MIN_WRAP_WIDTH = 20;

/** A table with a header; when the width does not hold it, it turns into records: a line for each column of each row. */
export function tableLines<Item>(
  items: readonly Item[],
  columns: Columns<Item>,
  width: number,
  { right = [], wraps = '' }: TableTerms = {},
): string[] {
  const titles = Object.keys(columns);
  const rows = items.map((item) => Object.values(columns).map((cell) => safeLine(String(cell(item) ?? ''))));
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

/** A command to copy that ends a sentence of ours; an error may be in the words of others. */
const COMMAND_AT_END = /^(?!error:)(.*:) (flywheel .*)$/;

/** A sentence on one line, or, on a terminal that is too narrow for it, on several; a command at its end stands on its own. */
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
