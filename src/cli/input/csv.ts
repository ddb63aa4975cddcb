/** Reads a CSV file (RFC 4180) as rows by field, each with its line. Amounts stay text. */

import { type CsvError, type Info, parse } from 'csv-parse/sync';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isJsonObject, type JsonObject } from '../../values/canonical-json.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { grouped } from '../../values/token-amount.js';
import { namedText } from '../operation/elements.js';
import { reasonOf, shortened } from './amount.js';
import type { Problems } from './problems.js';
import { type Input, inputError } from './read-input.js';

export interface TableKind {
  readonly fields: readonly string[];
  /** Field that is a JSON object: a column of JSON text, or one column `field.key` for each key. */
  readonly object: string;
  readonly aliases: ReadonlyMap<string, string>;
  readonly required: readonly string[];
  /** Fields whose cells may have spaces around them. */
  readonly text: readonly string[];
}

export interface TableRow {
  readonly line: number;
  readonly fields: ReadonlyMap<string, string>;
  /** `''` is the whole row. */
  readonly unreadable: readonly (readonly [field: string, reason: string])[];
  /** The column's name in messages, for the first of these fields that has a column. */
  label(...fields: readonly string[]): string;
}

/** `proof.orderId` is a key of the object. */
interface Column {
  readonly name: string;
  readonly field: string;
}

const MAX_ROW_BYTES = 16 * 1_024 * 1_024;
/** The limit of keys in an object. */
const MAX_COLUMNS = 10_000;
const DELIMITERS = [',', ';', '\t'] as const;
/** Excel writes this line above a table. */
const SEPARATOR_LINE = /^sep=(.)\r?$/;
const LINE_END = /\r\n|\n|\r/g;
const DECIMAL = /^[0-9]+(?:\.[0-9]+)?$/;

/** @throws `ERR_INPUT_INVALID` for an unknown header. */
export function tableRows(input: Input, kind: TableKind, problems: Problems): readonly TableRow[] {
  const [header, ...rows] = csvRows(input);
  if (header === undefined) throw inputError(input.name, 'expected a header and rows below it');
  const columns = readHeader(kind, input.columns, header.cells, (reason) =>
    problems.add(reason, { line: header.line, path: 'header' }),
  );
  // After an unknown header every row would be wrong too.
  problems.throwIfAny();
  const label: TableRow['label'] = (...fields) => {
    const column = [...fields, ...fields.map((field) => `${field}.`)]
      .map((field) =>
        columns.find((one) => (field.endsWith('.') ? one.field.startsWith(field) : one.field === field)),
      )
      .find((found) => found !== undefined);
    return column === undefined ? '' : `column ${JSON.stringify(column.name)}`;
  };
  return rows.map(({ cells, line }) => ({ line, label, ...readRow(cells, columns, kind) }));
}

function delimiterOf(firstLine: string): { readonly delimiter: string; readonly isStated: boolean } {
  const stated = SEPARATOR_LINE.exec(firstLine)?.[1];
  if (stated !== undefined) return { delimiter: stated, isStated: true };
  const unquoted = firstLine.replaceAll(/"[^"]*"/g, '');
  const count = (delimiter: string): number => unquoted.split(delimiter).length;
  const [most = ','] = [...DELIMITERS].sort((left, right) => count(right) - count(left));
  return { delimiter: most, isStated: false };
}

/** Without empty rows; the header is first. @throws `ERR_INPUT_INVALID` for unbalanced quotes. */
function csvRows({ name, text }: Input) {
  const { delimiter, isStated } = delimiterOf(text.trimStart().split(/[\r\n]/, 1)[0] ?? '');
  try {
    const rows = parse(text, {
      delimiter,
      ...(isStated ? { from_line: 2 } : {}),
      record_delimiter: ['\r\n', '\n', '\r'],
      skip_empty_lines: true,
      relax_column_count: true,
      max_record_size: MAX_ROW_BYTES,
      raw: true,
      info: true,
    }) as unknown as readonly {
      readonly record: readonly string[];
      readonly raw: string;
      readonly info: Info;
    }[];
    return rows
      .filter(({ record }) => record.some((cell) => cell.trim() !== ''))
      .map(({ record: cells, raw, info }) => {
        const own = raw.replace(/^[\r\n]+|[\r\n]+$/g, '');
        return { cells, line: info.lines - (own.match(LINE_END)?.length ?? 0) };
      });
  } catch (error) {
    throw unreadableTable(name, error);
  }
}

const REASONS = [
  ['CLOSING_QUOTE', 'text after the closing quote of a cell'],
  ['OPENING_QUOTE', 'a quote in an unquoted cell'],
  ['QUOTE_NOT_CLOSED', 'a quoted cell has no closing quote'],
  ['MAX_RECORD_SIZE', `a row has more than ${grouped(MAX_ROW_BYTES)} bytes`],
] as const;

function unreadableTable(name: string, error: unknown): FlywheelError {
  const { code = '', lines: line } = error as CsvError & { readonly lines?: number };
  const message = REASONS.find(([part]) => code.includes(part))?.[1];
  if (message === undefined) throw error;
  const where = line === undefined ? '' : ` (line ${line})`;
  return new FlywheelError('ERR_INPUT_INVALID', `${name}: ${message}${where}.`, {
    problems: { file: name, count: 1, listed: [{ ...(line !== undefined && { line }), message }] },
    hint: 'Enclose a cell that contains quotes in quotes, and double each inner quote.',
    cause: error,
  });
}

function readHeader(
  { fields, object, aliases, required }: TableKind,
  mapped: Input['columns'],
  names: readonly string[],
  complain: (reason: string) => void,
): readonly Column[] {
  if (names.length > MAX_COLUMNS) {
    complain(`${names.length} columns; at most ${MAX_COLUMNS} are allowed`);
    return [];
  }
  const prefix = `${object}.`;
  const isField = (field: string): boolean =>
    fields.includes(field) || field === object || field.startsWith(prefix);
  const quoted = (texts: readonly string[]): string => texts.map((one) => JSON.stringify(one)).join(', ');
  const known = quoted([...fields, object, `${prefix}KEY`]);
  const plain = (name: string): string => aliases.get(name) ?? name;
  const wanted = new Map([...mapped].map(([field, name]) => [plain(field), name]));
  for (const [field, name] of wanted) {
    const option = `--column ${field}=${name}`;
    if (!isField(field)) complain(`${option}: unknown field ${JSON.stringify(field)}; known: ${known}`);
    else if (!names.includes(name))
      complain(
        `${option}: no column ${JSON.stringify(name)}; the file has ${namedText(names.map((one) => JSON.stringify(one)))}`,
      );
  }
  const byName = new Map([...wanted].map(([field, name]) => [name, field]));
  const columns = names.map((name): Column => ({ name, field: byName.get(name) ?? plain(name) }));
  const own = columns.map(({ field }) => field);
  const unknown = own.filter((field) => !isField(field));
  if (unknown.length > 0)
    complain(`unknown column${unknown.length === 1 ? '' : 's'} ${quoted(unknown)}; known: ${known}`);
  for (const field of required)
    if (!own.includes(field)) complain(`no column for ${field}; name one: --column ${field}=NAME`);
  const twice = own.find((field, at) => own.indexOf(field) < at);
  if (twice !== undefined) complain(`two columns for ${JSON.stringify(twice)}`);
  checkObject(own, object, complain);
  return columns;
}

function checkObject(own: readonly string[], object: string, complain: (reason: string) => void): void {
  const prefix = `${object}.`;
  const keys = own.filter((field) => field.startsWith(prefix)).map((field) => field.slice(prefix.length));
  const [whole, each] = [JSON.stringify(object), JSON.stringify(`${prefix}KEY`)];
  for (const key of keys)
    if (key === '' || key.includes('.'))
      complain(
        `${JSON.stringify(`${prefix}${key}`)}: a nested ${object} goes into one column ${whole}, as JSON`,
      );
  if (keys.length > 0 === own.includes(object))
    complain(
      keys.length > 0 ? `use either a column ${whole} or columns ${each}` : `no column ${whole} or ${each}`,
    );
}

function readRow(
  cells: readonly string[],
  columns: readonly Column[],
  { text, object }: TableKind,
): Pick<TableRow, 'fields' | 'unreadable'> {
  const fields = new Map<string, string>();
  const unreadable: [string, string][] = [];
  if (cells.length !== columns.length)
    unreadable.push(['', `the row has ${cells.length} cells, the header ${columns.length}`]);
  for (const [at, { field }] of columns.entries()) {
    const cell = cells[at] ?? '';
    const isText = text.includes(field) || field === object || field.startsWith(`${object}.`);
    if (cell === '') continue;
    if (!isText && cell.trim() !== cell)
      unreadable.push([field, `${JSON.stringify(shortened(cell))} has spaces around it`]);
    else fields.set(field, cell);
  }
  return { fields, unreadable };
}

/** Signs, exponents, currency signs, thousands separators and decimal commas are not allowed. */
export const amountProblem = (text: string): string | undefined =>
  DECIMAL.test(text)
    ? undefined
    : `expected digits and at most one point, such as 1250.5, got ${JSON.stringify(shortened(text))}`;

/** Values of columns for single keys are text. @returns `undefined` when the whole object is empty. */
export function objectOf(
  fields: ReadonlyMap<string, string>,
  object: string,
): { readonly value?: JsonObject; readonly reason?: string } | undefined {
  const text = fields.get(object);
  const keys = [...fields].filter(([field]) => field.startsWith(`${object}.`));
  if (text === undefined)
    return keys.length === 0
      ? undefined
      : { value: Object.fromEntries(keys.map(([field, value]) => [field.slice(object.length + 1), value])) };
  let value: unknown;
  const reason = reasonOf(() => {
    value = parseStrictJson(text).value;
  });
  if (reason !== undefined) return { reason };
  return isJsonObject(value) ? { value } : { reason: 'expected a JSON object' };
}
