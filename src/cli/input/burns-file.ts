/** Reads a burns file (JSON array, NDJSON or CSV) as checked requests. Every problem of the file is reported at once. */
import { type BurnRequest, writtenBurnSchema } from '../../contract/schemas/burn.js';
import { checkInput, pathText } from '../../contract/validate.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import { isJsonObject, type JsonValue } from '../../values/canonical-json.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { checkDecimals, reasonOf } from './amount.js';
import { amountProblem, objectOf, type TableKind, type TableRow, tableRows } from './csv.js';
import { type Element, elementsOfList, Problems, withNumberAmount } from './problems.js';
import { type Input, inInput, inputError, proofProblem, requireKind, wholeJson } from './read-input.js';

const MAX_BURNS = 100_000;

const AMOUNT = 'burnAmount';

const TABLE: TableKind = {
  fields: ['type', 'amount', 'persistOnchain'],
  object: 'proof',
  aliases: new Map([[AMOUNT, 'amount']]),
  required: ['type', 'amount'],
  text: [],
};

/** @param decimals - `null`: the service checks them. @throws `ERR_INPUT_INVALID` with every problem and its place. */
export function readBurnsFile(input: Input, decimals: number | null): readonly BurnRequest[] {
  const problems = new Problems(input.name);
  const elements = elementsOf(input, problems);
  const burns = elements.flatMap((element) => readBurn(element, decimals) ?? []);
  problems.checkCount('burn', 'a file', MAX_BURNS);
  problems.throwIfAny();
  return burns;
}

function elementsOf(input: Input, problems: Problems): readonly Element[] {
  if (input.format === 'csv') return tableRows(input, TABLE, problems).map((row) => burnOf(row, problems));
  if (input.format === 'ndjson') {
    // An input of another kind is one object, which looks like NDJSON.
    const whole = wholeJson(input.text);
    if (whole !== undefined) requireKind(input.name, whole, 'a burns file');
    return elementsOfLines(input, problems);
  }
  const { value } = inInput(input.name, () => parseStrictJson(input.text), true);
  requireKind(input.name, value, 'a burns file');
  if (!Array.isArray(value)) throw neither(input);
  return elementsOfList(value, problems);
}

const neither = ({ name }: Input) =>
  inputError(name, 'expected a JSON array, or NDJSON with one object per line');

function elementsOfLines(input: Input, problems: Problems): readonly Element[] {
  const lines = input.text.split('\n').map((text, at) => ({ text, line: at + 1 }));
  return lines
    .filter(({ text }) => text.trim() !== '')
    .flatMap(({ text, line }, index) => {
      const trimmed = text.trim();
      if (index === 0 && trimmed.startsWith('{') && !trimmed.endsWith('}')) throw neither(input);
      const found = problems.next((path) => ({ line, path: pathText(path) }));
      try {
        return [{ value: parseStrictJson(text).value, problems: found }];
      } catch (error) {
        if (!isFlywheelError(error, 'ERR_INVALID_REQUEST')) throw error;
        // The parser counts lines within its own text.
        found.add([], error.message.replace('(line 1, ', '(').replace(/\.$/, ''));
        return [];
      }
    });
}

/** `persistOnchain` is false without its column. */
function burnOf({ line, fields, unreadable, label }: TableRow, all: Problems): Element {
  const problems = all.next(([field = '', key = '']) => {
    const name = field === AMOUNT ? 'amount' : String(field);
    return { line, path: field === '' ? '' : label(`${name}.${String(key)}`, name) };
  });
  for (const [field, reason] of unreadable)
    problems.add(field === '' ? [] : [field === 'amount' ? AMOUNT : field], reason);
  const type = fields.get('type');
  const amount = fields.get('amount');
  if (amount !== undefined) problems.add([AMOUNT], amountProblem(amount));
  const word = fields.get('persistOnchain')?.toLowerCase() ?? 'false';
  const proof = objectOf(fields, 'proof');
  problems.add(['proof'], proof === undefined ? 'expected a JSON object' : proof.reason);
  const value: Record<string, JsonValue> = {
    ...(type !== undefined && { type }),
    ...(amount !== undefined && !problems.has([AMOUNT]) && { [AMOUNT]: amount }),
    ...(['true', 'false'].includes(word) && { persistOnchain: word === 'true' }),
    ...(proof?.value !== undefined && { proof: proof.value }),
  };
  return { value, problems };
}

function readBurn({ value, problems }: Element, decimals: number | null): BurnRequest | undefined {
  const prepared = isJsonObject(value) ? withNumberAmount(value, [AMOUNT], problems) : value;
  const burn = problems.checked(checkInput(writtenBurnSchema, prepared));
  if (burn === undefined) return undefined;
  problems.add(
    ['proof'],
    reasonOf(() => proofProblem(burn.proof)),
  );
  if (decimals !== null) problems.add([AMOUNT], checkDecimals(burn.burnAmount, decimals));
  return problems.isEmpty ? burn : undefined;
}
