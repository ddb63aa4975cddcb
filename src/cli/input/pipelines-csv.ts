/** A CSV file of pipelines: one action a row, rows of the same pipeline one below the other. */
import { ACTION_FIELDS } from '../../contract/schemas/batch.js';
import type { JsonValue } from '../../values/canonical-json.js';
import { canonicalJson } from '../../values/canonical-json.js';
import type { TableKind } from './csv-columns.js';
import { amountProblem, columnOf, objectProblem, readObject, type TableRow, tableRows } from './csv-table.js';
import type { Element, Unreadable } from './element.js';
import type { Input } from './open-input.js';
import type { ElementPlace, Problems } from './problems.js';

const GROUP = 'pipeline';

const KIND: TableKind = {
  fields: [GROUP, 'type', ...ACTION_FIELDS],
  object: 'payload',
  aliases: {},
  required: ['type', 'action'],
  text: ['message'],
};

/** The pipelines of a file; without a column that groups them each row is one. */
export function pipelineRows(input: Input, problems: Problems): readonly Element[] {
  const groups: TableRow[][] = [];
  const seen = new Set<string>();
  let current: string | undefined;
  for (const row of tableRows(input, KIND, problems)) {
    const name = row.fields.get(GROUP);
    const isGrouped = row.columns.some(({ field }) => field === GROUP);
    if (isGrouped) checkGroup(row, { name, isNext: name !== undefined && name === current, seen }, problems);
    if (name !== undefined && name === current) groups.at(-1)?.push(row);
    else groups.push([row]);
    current = name;
    if (name !== undefined) seen.add(name);
  }
  return groups.map(pipelineOf);
}

function checkGroup(
  row: TableRow,
  { name, isNext, seen }: { name: string | undefined; isNext: boolean; seen: ReadonlySet<string> },
  problems: Problems,
): void {
  const at = columnOf(row, [GROUP]);
  const complain = (reason: string): void =>
    problems.add(`line ${row.row.line}`, reason, {
      line: row.row.line,
      path: `column ${JSON.stringify(row.columns[at]?.name)}`,
    });
  if (name === undefined) complain('expected the name of the pipeline');
  else if (!isNext && seen.has(name))
    complain(`the rows of pipeline ${JSON.stringify(name)} are not consecutive`);
}

function pipelineOf(rows: readonly TableRow[], index: number): Element {
  const unreadable: Unreadable[] = [];
  const value: Record<string, JsonValue> = { actions: rows.map((row, at) => actionOf(row, at, unreadable)) };
  const type = sameIn(rows, 'type', unreadable, ({ fields }) => fields.get('type'));
  if (type !== undefined) value['type'] = type;
  const payload = sameIn(rows, 'payload', unreadable, (row) => payloadOf(row, unreadable));
  if (payload !== undefined) value['payload'] = payload;
  else if (!unreadable.some(({ path }) => path[0] === 'payload'))
    unreadable.push({ path: ['payload'], reason: 'expected a JSON object' });
  return { value, place: placeOf(rows, index), unreadable };
}

/** What the first row of a pipeline says; the others may repeat it or leave it out. */
function sameIn(
  rows: readonly TableRow[],
  field: string,
  unreadable: Unreadable[],
  read: (row: TableRow) => string | undefined,
): string | undefined {
  const [first, ...more] = rows.map(read);
  for (const [at, other] of more.entries())
    if (other !== undefined && other !== first)
      unreadable.push({
        path: ['rows', at + 1, field],
        reason: `${field} differs from the first row of the pipeline`,
      });
  return first;
}

function payloadOf(row: TableRow, unreadable: Unreadable[]): string | undefined {
  const { fields } = row;
  const isEmpty = ![...fields.keys()].some((field) => field === 'payload' || field.startsWith('payload.'));
  if (isEmpty) return undefined;
  const reason = objectProblem(fields, 'payload');
  if (reason !== undefined) {
    unreadable.push({ path: ['payload'], reason });
    return undefined;
  }
  const payload = readObject(fields, 'payload');
  return payload === undefined ? undefined : canonicalJson(payload);
}

function actionOf({ fields, unreadable: cells }: TableRow, at: number, unreadable: Unreadable[]): JsonValue {
  for (const { path, reason } of cells) {
    const part = ACTION_FIELDS.includes(String(path[0])) ? 'actions' : 'rows';
    unreadable.push({ path: [part, at, ...path], reason });
  }
  const action: Record<string, JsonValue> = {};
  for (const name of ACTION_FIELDS) {
    const cell = fields.get(name);
    if (cell === undefined) continue;
    const problem = name === 'amount' ? amountProblem(cell) : undefined;
    if (problem === undefined) action[name] = cell;
    else unreadable.push({ path: ['actions', at, name], reason: problem });
  }
  return action;
}

/** `actions[2].amount` is a cell of the third row; the rest stands in the first. */
function placeOf(rows: readonly TableRow[], index: number): ElementPlace {
  const cellOf = ([part, step, ...inner]: readonly PropertyKey[]): readonly [
    TableRow | undefined,
    number,
  ] => {
    const isInRow = (part === 'actions' || part === 'rows') && typeof step === 'number';
    const row = isInRow ? rows[step] : rows[0];
    const field = String(isInRow ? (inner[0] ?? '') : (part ?? ''));
    if (row === undefined) return [rows[0], -1];
    const first = row.columns.find((column) => column.field.startsWith(`${field}.`))?.field;
    return [row, columnOf(row, first === undefined ? [field] : [field, first])];
  };
  const label = (path: readonly PropertyKey[]): string => {
    const [row, at] = cellOf(path);
    const name = row?.columns[at]?.name;
    return name === undefined ? '' : `column ${JSON.stringify(name)}`;
  };
  const lineOf = (path: readonly PropertyKey[]): number => (cellOf(path)[0] ?? rows[0])?.row.line ?? 1;
  return {
    index,
    name: (path) => [`line ${lineOf(path)}`, label(path)].filter((part) => part !== '').join(', '),
    label,
    line: lineOf,
  };
}
