/** A CSV file of burns: one row each. */
import type { JsonValue } from '../../values/canonical-json.js';
import type { TableKind } from './csv-columns.js';
import {
  amountProblem,
  columnOf,
  objectProblem,
  readBoolean,
  readObject,
  type TableRow,
  tableRows,
} from './csv-table.js';
import type { Element, Unreadable } from './element.js';
import type { Input } from './open-input.js';
import type { ElementPlace, Problems } from './problems.js';

const KIND: TableKind = {
  fields: ['type', 'amount', 'persistOnchain'],
  object: 'proof',
  aliases: { burnAmount: 'amount' },
  required: ['type', 'amount'],
  text: [],
};

/** The rows as burns; without its column, `persistOnchain` is false, as that of `burn` is. */
export function* burnRows(input: Input, problems: Problems): Generator<Element> {
  let index = 0;
  for (const row of tableRows(input, KIND, problems)) {
    yield burnOf(row, index);
    index += 1;
  }
}

function burnOf(table: TableRow, index: number): Element {
  const { fields, unreadable } = table;
  const found: Unreadable[] = unreadable.map(({ path, reason }) => ({
    path: path[0] === 'amount' ? ['burnAmount'] : path,
    reason,
  }));
  const value: Record<string, JsonValue> = {};
  const type = fields.get('type');
  if (type !== undefined) value['type'] = type;
  const amount = fields.get('amount');
  const problem = amount === undefined ? undefined : amountProblem(amount);
  if (problem !== undefined) found.push({ path: ['burnAmount'], reason: problem });
  else if (amount !== undefined) value['burnAmount'] = amount;
  const persist = fields.get('persistOnchain') ?? 'false';
  const persistOnchain = readBoolean(persist);
  if (persistOnchain !== undefined) value['persistOnchain'] = persistOnchain;
  const reason = objectProblem(fields, 'proof');
  const proof = reason === undefined ? readObject(fields, 'proof') : undefined;
  if (proof === undefined) found.push({ path: ['proof'], reason: reason ?? 'expected a JSON object' });
  else value['proof'] = proof;
  return { value, place: placeOf(table, index), unreadable: found };
}

function placeOf(table: TableRow, index: number): ElementPlace {
  const columnAt = ([field = '', key = '']: readonly PropertyKey[]): number => {
    const name = field === 'burnAmount' ? 'amount' : String(field);
    const first = table.columns.find((column) => column.field.startsWith(`${name}.`))?.field ?? name;
    return columnOf(table, [`${name}.${String(key)}`, name, first]);
  };
  const label = (path: readonly PropertyKey[]): string => {
    const name = table.columns[columnAt(path)]?.name;
    return path.length === 0 || name === undefined ? '' : `column ${JSON.stringify(name)}`;
  };
  return {
    index,
    name: (path) => [`line ${table.row.line}`, label(path)].filter((part) => part !== '').join(', '),
    label,
    line: () => table.row.line,
  };
}
