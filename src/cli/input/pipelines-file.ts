/**
 * A file of pipelines → the checked request of init: `{ "pipelines": [ … ] }`, the bare array, or CSV with one action a row.
 * Every problem is reported at once.
 */
import { isSourceAction } from '../../actions/registry.js';
import {
  type InitBatchRequest,
  MAX_PIPELINES,
  type Pipeline,
  pipelineSchema,
} from '../../contract/schemas/batch.js';
import { checkInput } from '../../contract/validate.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../values/canonical-json.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { checkDecimals } from './decimals.js';
import { checkedOr, type Element, reasonOf, withNumberAmount } from './element.js';
import type { Input } from './open-input.js';
import { pipelineRows } from './pipelines-csv.js';
import { type ElementProblems, Problems, placeInText } from './problems.js';
import { proofProblem } from './proof.js';
import { inFile, inputError } from './read-input.js';

/** Keys that a file may have beside its pipelines. */
const IGNORED_KEYS: ReadonlySet<string> = new Set(['pipelines', '$schema']);

/**
 * Reads and checks a whole file of pipelines.
 *
 * @param decimals - of the mint, where known; `null` leaves that check to the service.
 * @throws `ERR_INPUT_INVALID` with every problem and the place of it.
 */
export function readPipelinesFile(input: Input, decimals: number | null): InitBatchRequest {
  const problems = new Problems(input.name);
  const text = input.format === 'csv' ? undefined : input.text;
  const { elements, prefix } =
    text === undefined
      ? { elements: pipelineRows(input, problems), prefix: '' }
      : elementsOf(input.name, text, problems);
  if (elements.length === 0) problems.add(prefix, 'expected at least one pipeline');
  if (elements.length > MAX_PIPELINES)
    problems.add(
      prefix,
      `a batch has at most ${MAX_PIPELINES} pipelines, got ${elements.length}; split the file`,
    );
  const pipelines = elements.flatMap((element) => readPipeline(element, decimals, problems) ?? []);
  problems.throwIfAny();
  return { pipelines };
}

function elementsOf(
  name: string,
  text: string,
  problems: Problems,
): { elements: readonly Element[]; prefix: string } {
  const { value } = inFile(name, () => parseStrictJson(text));
  const elements = (list: readonly JsonValue[], steps: readonly string[]): readonly Element[] =>
    list.map((one, index) => ({ value: one, place: placeInText([...steps, index], index) }));
  if (Array.isArray(value)) return { elements: elements(value, []), prefix: '' };
  if (!isJsonObject(value) || !Array.isArray(value['pipelines']))
    throw inputError(name, 'expected { "pipelines": [ … ] } or a list of pipelines');
  const unknown = Object.keys(value).filter((key) => !IGNORED_KEYS.has(key));
  if (unknown.length > 0)
    problems.add('', `unknown key ${unknown.map((key) => JSON.stringify(key)).join(', ')}`);
  return { elements: elements(value['pipelines'], ['pipelines']), prefix: 'pipelines' };
}

/** The checked pipeline, or `undefined` after its problems were noted. */
function readPipeline(
  { value, place, unreadable = [] }: Element,
  decimals: number | null,
  all: Problems,
): Pipeline | undefined {
  const problems = all.of(place);
  for (const { path, reason } of unreadable) problems.add(path, reason);
  const prepared = isJsonObject(value) ? prepare(value, problems) : value;
  const pipeline = checkedOr(checkInput(pipelineSchema, prepared), problems);
  if (pipeline === undefined) return undefined;
  if (isJsonObject(value) && typeof value['payload'] === 'string') {
    const reason = reasonOf(() => proofProblem(parseStrictJson(pipeline.payload).value));
    if (reason !== undefined) problems.add(['payload'], reason);
  }
  if (decimals !== null) checkAmounts(pipeline, decimals, problems);
  return problems.isEmpty ? pipeline : undefined;
}

function checkAmounts(pipeline: Pipeline, decimals: number, problems: ElementProblems): void {
  for (const [index, action] of pipeline.actions.entries()) {
    if (!isSourceAction(action) || !('amount' in action)) continue;
    const reason = checkDecimals(action.amount, decimals);
    if (reason !== undefined) problems.add(['actions', index, 'amount'], reason);
  }
}

/** A payload given as an object becomes its canonical text; amounts given as text become numbers. */
function prepare(item: JsonObject, problems: ElementProblems): JsonValue {
  const { payload, actions } = item;
  const list = Array.isArray(actions)
    ? actions.map((action: JsonValue, index) =>
        isJsonObject(action) ? withNumberAmount(action, ['actions', index, 'amount'], problems) : action,
      )
    : actions;
  return {
    ...item,
    ...(list === undefined ? {} : { actions: list }),
    ...(isJsonObject(payload) ? { payload: payloadText(payload, problems) } : {}),
  };
}

function payloadText(payload: JsonObject, problems: ElementProblems): string {
  try {
    const reason = proofProblem(payload);
    if (reason !== undefined) problems.add(['payload'], reason);
    return canonicalJson(payload);
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_INVALID_REQUEST')) throw error;
    problems.add(['payload'], error.message.replace(/\.$/, ''));
    return '{}';
  }
}
