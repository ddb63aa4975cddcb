/**
 * A file of burns → checked requests: a JSON array, NDJSON with one object a line, or CSV with one row each. Every problem of
 * the whole file is reported at once, and nothing is sent before the file is known to be good.
 */
import { type BurnRequest, writtenBurnSchema } from '../../contract/schemas/burn.js';
import { checkInput } from '../../contract/validate.js';
import { isJsonObject } from '../../values/canonical-json.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { burnRows } from './burns-csv.js';
import { checkDecimals } from './decimals.js';
import { checkedOr, type Element, reasonOf, withNumberAmount } from './element.js';
import { jsonLines } from './json-lines.js';
import { type Input, wholeText } from './open-input.js';
import { Problems, placeInText } from './problems.js';
import { proofProblem } from './proof.js';
import { inFile, inputError } from './read-input.js';

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
 * @throws `ERR_INPUT_INVALID` with every problem and its place.
 */
export async function readBurnsFile(input: Input, decimals: number | null): Promise<BurnsFile> {
  const burns: BurnRequest[] = [];
  for await (const burn of checkedBurns(input, decimals)) burns.push(burn);
  return { name: input.name, burns };
}

/**
 * The burns of a file as they are read. What comes before the first problem is handed out, so that only the end says whether the
 * file is good.
 * @throws `ERR_INPUT_INVALID` at the end, with every problem.
 */
export async function* checkedBurns(input: Input, decimals: number | null): AsyncGenerator<BurnRequest> {
  const problems = new Problems(input.name);
  const text = input.format === 'json' ? await wholeText(input) : undefined;
  let isEmpty = true;
  for await (const element of elementsOf(input, text, problems)) {
    isEmpty = false;
    const burn = readBurn(element, decimals, problems);
    if (burn !== undefined && problems.count === 0) yield burn;
  }
  if (isEmpty && problems.count === 0) problems.add('', 'expected at least one burn');
  problems.throwIfAny(text);
}

function elementsOf(
  input: Input,
  text: string | undefined,
  problems: Problems,
): AsyncIterable<Element> | Iterable<Element> {
  if (text !== undefined) return elementsOfArray(input.name, text);
  return input.format === 'csv' ? burnRows(input, problems) : jsonLines(input, problems);
}

function* elementsOfArray(name: string, text: string): Generator<Element> {
  const { value } = inFile(name, () => parseStrictJson(text));
  if (!Array.isArray(value))
    throw inputError(name, 'expected a JSON array, or NDJSON with one object a line');
  for (const [index, element] of value.entries())
    yield { value: element, place: placeInText([index], index) };
}

/** The checked burn, or `undefined` after its problems were noted. */
function readBurn(
  { value, place, unreadable = [] }: Element,
  decimals: number | null,
  all: Problems,
): BurnRequest | undefined {
  const problems = all.of(place);
  for (const { path, reason } of unreadable) problems.add(path, reason);
  const prepared = isJsonObject(value) ? withNumberAmount(value, [AMOUNT], problems) : value;
  const burn = checkedOr(checkInput(writtenBurnSchema, prepared), problems);
  if (burn === undefined) return undefined;
  const proof = reasonOf(() => proofProblem(burn.proof));
  if (proof !== undefined) problems.add(['proof'], proof);
  const amount = decimals === null ? undefined : checkDecimals(burn.burnAmount, decimals);
  if (amount !== undefined) problems.add([AMOUNT], amount);
  return problems.isEmpty ? burn : undefined;
}
