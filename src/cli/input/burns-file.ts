/**
 * A file of burns → checked requests: a JSON array, or NDJSON with one object a line. Every problem of the whole file is
 * reported at once, and nothing is sent before the file is known to be good.
 */
import { type BurnRequest, writtenBurnSchema } from '../../contract/schemas/burn.js';
import { checkInput, issueText, pathText } from '../../contract/validate.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { isJsonObject, type JsonValue } from '../../values/canonical-json.js';
import { parseStrictJson, type StrictJson } from '../../values/strict-json.js';
import { inInput, inputError, type NamedText } from '../files/read-input.js';
import { readAmountText } from './amount.js';
import { checkDecimals } from './decimals.js';
import { Problems } from './problems.js';
import { proofProblem } from './proof.js';

/** What a file of burns holds. */
export interface BurnsFile {
  readonly name: string;
  readonly burns: readonly BurnRequest[];
}

const AMOUNT = 'burnAmount';

/**
 * Reads and checks a whole file.
 *
 * @param decimals - of the mint, where known; `null` leaves that check to the service.
 * @throws `ERR_INPUT_INVALID` with every problem, each with its index or line.
 */
export function readBurnsFile({ name, text }: NamedText, decimals: number | null): BurnsFile {
  const problems = new Problems(name);
  const first = text.trimStart()[0];
  if (first === '{' && isOneValue(text))
    throw inputError(name, 'expected a JSON array, or NDJSON with one object a line');
  const burns =
    first === '[' ? readArray(name, text, decimals, problems) : readLines(text, decimals, problems);
  if (burns.length === 0 && problems.count === 0) problems.add('', 'expected at least one burn');
  problems.throwIfAny();
  return { name, burns };
}

/** Is it one JSON value over several lines? One on a single line is NDJSON of one element. */
function isOneValue(text: string): boolean {
  const trimmed = text.trim();
  if (!trimmed.includes('\n')) return false;
  try {
    JSON.parse(trimmed);
    return true;
  } catch {
    return false;
  }
}

function readArray(name: string, text: string, decimals: number | null, problems: Problems): BurnRequest[] {
  const parsed = inInput(name, () => parseStrictJson(text));
  const elements = parsed.value as readonly JsonValue[];
  const inexact = groupInexact(parsed.inexactNumbers);
  return elements.flatMap((element, index) =>
    readBurn(element, inexact.get(index) ?? [], `[${index}]`, decimals, problems),
  );
}

/** Texts of inexact amounts by element. */
function groupInexact(numbers: StrictJson['inexactNumbers']): Map<number, string[]> {
  const groups = new Map<number, string[]>();
  for (const { path, text } of numbers) {
    const [index, key] = path;
    if (typeof index === 'number' && key === AMOUNT && path.length === 2) groups.set(index, [text]);
  }
  return groups;
}

function readLines(text: string, decimals: number | null, problems: Problems): BurnRequest[] {
  const burns: BurnRequest[] = [];
  let line = 0;
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf('\n', start);
    const end = found < 0 ? text.length : found;
    const content = text.slice(start, end).trim();
    start = end + 1;
    line += 1;
    if (content !== '') burns.push(...readLine(content, `line ${line}`, decimals, problems));
  }
  return burns;
}

function readLine(
  text: string,
  place: string,
  decimals: number | null,
  problems: Problems,
): readonly BurnRequest[] {
  try {
    const { value, inexactNumbers } = parseStrictJson(text);
    const inexact = inexactNumbers.filter(({ path }) => path.length === 1 && path[0] === AMOUNT);
    return readBurn(
      value,
      inexact.map((number) => number.text),
      place,
      decimals,
      problems,
    );
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_INVALID_REQUEST')) throw error;
    // The parser counts lines within its own text.
    problems.add(place, error.message.replace(/line 1, column/, 'column').replace(/\.$/, ''));
    return [];
  }
}

/** The checked burn, or none after its problems were noted. */
function readBurn(
  element: JsonValue,
  inexactAmounts: readonly string[],
  place: string,
  decimals: number | null,
  problems: Problems,
): readonly BurnRequest[] {
  const before = problems.count;
  const prepared = isJsonObject(element) ? withNumberAmount(element, AMOUNT, place, problems) : element;
  for (const text of inexactAmounts)
    problems.add(`${place}.${AMOUNT}`, `${text} is not exact as a JSON number; write it as a decimal string`);
  const checked = checkInput(writtenBurnSchema, prepared);
  if ('issues' in checked) {
    // An amount that was text has been complained of already.
    const known = problems.count > before;
    for (const problem of checked.issues.map(issueText))
      if (!(known && problem.startsWith(`${AMOUNT}:`))) problems.addAt(place, problem);
    return [];
  }
  const reasons = [
    ['proof', inElement(() => proofProblem(checked.value.proof))],
    [AMOUNT, decimals === null ? undefined : checkDecimals(checked.value.burnAmount, decimals)],
  ] as const;
  for (const [key, reason] of reasons) if (reason !== undefined) problems.add(`${place}.${key}`, reason);
  return problems.count > before ? [] : [checked.value];
}

function inElement(check: () => string | undefined): string | undefined {
  try {
    return check();
  } catch (error) {
    if (error instanceof FlywheelError) return error.message.replace(/\.$/, '');
    throw error;
  }
}

/** The object with a decimal string in an amount position turned into the number that is the same decimal. */
export function withNumberAmount(
  object: Readonly<Record<string, JsonValue>>,
  key: string,
  place: string,
  problems: Problems,
): JsonValue {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  if (typeof value !== 'string') return object;
  const amount = readAmountText(value);
  if ('value' in amount) return { ...object, [key]: amount.value };
  problems.add(`${place}.${pathText([key])}`, amount.problem);
  return object;
}
