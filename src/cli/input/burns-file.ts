/**
 * A file of burns → checked requests: a JSON array, or NDJSON with one object a line. Every problem of the whole file is
 * reported at once, and nothing is sent before the file is known to be good.
 */
import { type BurnRequest, writtenBurnSchema } from '../../contract/schemas/burn.js';
import { checkInput, issueText, pathText } from '../../contract/validate.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { isJsonObject, type JsonValue } from '../../values/canonical-json.js';
import { InexactNumber } from '../../values/exact-number.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { readAmountText } from './amount.js';
import { checkDecimals } from './decimals.js';
import { Problems } from './problems.js';
import { proofProblem } from './proof.js';
import { inInput, inputError, type NamedText } from './read-input.js';

/** What a file of burns holds. */
export interface BurnsFile {
  readonly name: string;
  readonly burns: readonly BurnRequest[];
}

const AMOUNT = 'burnAmount';
/** Characters of an amount that a problem quotes. */
const MAX_SHOWN = 60;

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
  const elements = inInput(name, () => parseStrictJson(text)).value as readonly JsonValue[];
  return elements.flatMap((element, index) => readBurn(element, `[${index}]`, decimals, problems));
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
    return readBurn(parseStrictJson(text).value, place, decimals, problems);
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
  place: string,
  decimals: number | null,
  problems: Problems,
): readonly BurnRequest[] {
  const before = problems.count;
  const prepared = isJsonObject(element) ? withNumberAmount(element, AMOUNT, place, problems) : element;
  const checked = checkInput(writtenBurnSchema, prepared);
  if ('issues' in checked) {
    // An amount that no JSON number can carry has been complained of already.
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

/**
 * The object with a decimal string in an amount position turned into the number that is the same decimal. A number that is
 * not the one written is a problem.
 */
export function withNumberAmount(
  object: Readonly<Record<string, JsonValue>>,
  key: string,
  place: string,
  problems: Problems,
): JsonValue {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  const complain = (problem: string): JsonValue => {
    problems.add(`${place}.${pathText([key])}`, problem);
    return object;
  };
  if (value instanceof InexactNumber) {
    const shown = value.text.length > MAX_SHOWN ? `${value.text.slice(0, MAX_SHOWN)}…` : value.text;
    return complain(`${shown} is not exact as a JSON number; write it as a decimal string`);
  }
  if (typeof value !== 'string') return object;
  const amount = readAmountText(value);
  return 'value' in amount ? { ...object, [key]: amount.value } : complain(amount.problem);
}
