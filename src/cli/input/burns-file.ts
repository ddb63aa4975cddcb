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
import type { Input } from './open-input.js';
import { Problems, placeInText } from './problems.js';
import { proofProblem } from './proof.js';
import { inFile, inputError } from './read-input.js';

/** Burns of one file; more than take a service minutes belong into several. */
const MAX_BURNS = 100_000;

const AMOUNT = 'burnAmount';

/**
 * Reads and checks a whole file.
 *
 * @param decimals - of the mint, where known; `null` leaves that check to the service.
 * @throws `ERR_INPUT_INVALID` with every problem and its place.
 */
export function readBurnsFile(input: Input, decimals: number | null): readonly BurnRequest[] {
  const problems = new Problems(input.name);
  const burns: BurnRequest[] = [];
  let count = 0;
  for (const element of elementsOf(input, problems)) {
    count += 1;
    const burn = readBurn(element, decimals, problems);
    if (burn !== undefined) burns.push(burn);
  }
  if (count === 0 && problems.count === 0) problems.add('', 'expected at least one burn');
  if (count > MAX_BURNS)
    problems.add('', `a file has at most ${MAX_BURNS} burns, got ${count}; split the file`);
  problems.throwIfAny();
  return burns;
}

function elementsOf(input: Input, problems: Problems): Iterable<Element> {
  if (input.format === 'json') return elementsOfArray(input);
  return input.format === 'csv' ? burnRows(input, problems) : jsonLines(input, problems);
}

function* elementsOfArray({ name, text }: Input): Generator<Element> {
  const { value } = inFile(name, () => parseStrictJson(text));
  if (!Array.isArray(value))
    throw inputError(name, 'expected a JSON array, or NDJSON with one object per line');
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
