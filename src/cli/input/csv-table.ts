/** Rows of a CSV file → fields as the JSON of a burn or a pipeline has them; amounts stay text. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../values/canonical-json.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { type Column, readHeader, type TableKind } from './csv-columns.js';
import { type CsvRow, csvRows } from './csv-rows.js';
import { reasonOf, type Unreadable } from './element.js';
import type { Input } from './open-input.js';
import type { Problems } from './problems.js';
import { inputError } from './read-input.js';

/** A row by its fields; what is empty is absent. */
export interface TableRow {
  readonly row: CsvRow;
  readonly columns: readonly Column[];
  readonly fields: ReadonlyMap<string, string>;
  /** By field. */
  readonly unreadable: readonly Unreadable[];
}

const DECIMAL = /^[0-9]+(?:\.[0-9]+)?$/;
const MAX_SHOWN = 60;

/** Every row of a file below its header. @throws `ERR_INPUT_INVALID` when the header is not understood. */
export function* tableRows(input: Input, kind: TableKind, problems: Problems): Generator<TableRow> {
  let columns: readonly Column[] | undefined;
  for (const row of csvRows(input)) {
    if (columns !== undefined) {
      yield readRow(row, columns, kind);
      continue;
    }
    columns = readHeader(kind, input.columns, row.cells, problems, row.line);
    // Below a header that is not understood everything would be wrong.
    problems.throwIfAny();
  }
  if (columns === undefined) throw inputError(input.name, 'expected a header and rows below it');
}

function readRow(row: CsvRow, columns: readonly Column[], { text, object }: TableKind): TableRow {
  const fields = new Map<string, string>();
  const unreadable: Unreadable[] = [];
  if (row.cells.length !== columns.length)
    unreadable.push({
      path: [],
      reason: `the row has ${row.cells.length} cells, the header ${columns.length}`,
    });
  for (const [at, { field }] of columns.entries()) {
    const cell = row.cells[at] ?? '';
    const isText = text.includes(field) || field === object || field.startsWith(`${object}.`);
    if (cell === '') continue;
    if (!isText && cell.trim() !== cell)
      unreadable.push({ path: [field], reason: `${JSON.stringify(shortened(cell))} has spaces around it` });
    else fields.set(field, cell);
  }
  return { row, columns, fields, unreadable };
}

const shortened = (text: string): string => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);

/** What is wrong with the text of an amount; `undefined` when nothing is. */
export function amountProblem(text: string): string | undefined {
  if (DECIMAL.test(text)) return undefined;
  const shown = JSON.stringify(shortened(text));
  return `expected digits and at most one point, such as 1250.5, got ${shown}: ${oddity(text)}`;
}

function oddity(text: string): string {
  if (/^[+-]/.test(text)) return 'it has a sign';
  if (/^[0-9.]+[eE][+-]?[0-9]+$/.test(text))
    return 'scientific notation may have lost digits; format the column as text';
  if (/^[0-9][0-9.,'\u2019 \u00a0\u202f]*$/.test(text) && /[,'\u2019 \u00a0\u202f]|\..*\./.test(text))
    return 'thousands separators and decimal commas are not allowed';
  if (/\p{Sc}/u.test(text)) return 'it has a currency sign';
  return 'it is not a decimal number';
}

/** `true` or `false`, as spreadsheets write them too. */
export function readBoolean(text: string): boolean | undefined {
  const word = text.toLowerCase();
  return word === 'true' ? true : word === 'false' ? false : undefined;
}

/**
 * The object of a row, from a column of JSON text, or from one column a key; values of the latter are text.
 * @returns `undefined` when all of it is empty.
 */
export function readObject(fields: ReadonlyMap<string, string>, object: string): JsonObject | undefined {
  const text = fields.get(object);
  if (text !== undefined) {
    const { value } = parseStrictJson(text);
    return isJsonObject(value) ? value : undefined;
  }
  const entries = [...fields].filter(([field]) => field.startsWith(`${object}.`));
  return entries.length === 0
    ? undefined
    : Object.fromEntries(
        entries.map(([field, value]): [string, JsonValue] => [field.slice(object.length + 1), value]),
      );
}

/** What is wrong with the object of a row; `undefined` when nothing is. */
export const objectProblem = (fields: ReadonlyMap<string, string>, object: string): string | undefined =>
  reasonOf(() => (readObject(fields, object) === undefined ? 'expected a JSON object' : undefined));

/** The column of a field; of a key of the object the first of these, where the key itself is none. */
export function columnOf({ columns }: TableRow, fields: readonly string[]): number {
  for (const field of fields) {
    const at = columns.findIndex((column) => column.field === field);
    if (at >= 0) return at;
  }
  return -1;
}
