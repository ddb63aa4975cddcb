/**
 * A file of pipelines → the checked request of init: `{ "pipelines": [ … ] }` or the bare array. Every problem is
 * reported at once.
 */
import { isSourceAction } from '../../actions/registry.js';
import {
  type InitBatchRequest,
  MAX_PIPELINES,
  type Pipeline,
  pipelineSchema,
} from '../../contract/schemas/batch.js';
import { checkInput, issueText } from '../../contract/validate.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import { isJsonObject, type JsonObject, type JsonValue, proofText } from '../../values/canonical-json.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { withNumberAmount } from './burns-file.js';
import { checkDecimals } from './decimals.js';
import { Problems } from './problems.js';
import { proofProblem } from './proof.js';
import { inInput, inputError, type NamedText } from './read-input.js';

/**
 * Reads and checks a whole file of pipelines.
 *
 * @param decimals - of the mint, where known; `null` leaves that check to the service.
 * @throws `ERR_INPUT_INVALID` with every problem and the index of its pipeline and action.
 */
export function readPipelinesFile({ name, text }: NamedText, decimals: number | null): InitBatchRequest {
  const { value } = inInput(name, () => parseStrictJson(text));
  const problems = new Problems(name);
  const { list, prefix } = pipelineList(name, value, problems);
  if (list.length === 0) problems.add(prefix, 'expected at least one pipeline');
  if (list.length > MAX_PIPELINES)
    problems.add(prefix, `a batch holds at most ${MAX_PIPELINES} pipelines, got ${list.length}`);
  const pipelines = list.flatMap((item, index) =>
    readPipeline(item, `${prefix}[${index}]`, decimals, problems),
  );
  problems.throwIfAny();
  return { pipelines };
}

function pipelineList(
  name: string,
  value: JsonValue,
  problems: Problems,
): { list: readonly JsonValue[]; prefix: string } {
  if (Array.isArray(value)) return { list: value, prefix: '' };
  if (!isJsonObject(value) || !Array.isArray(value['pipelines']))
    throw inputError(name, 'expected { "pipelines": [ … ] } or a list of pipelines');
  const unknown = Object.keys(value).filter((key) => key !== 'pipelines');
  if (unknown.length > 0)
    problems.add('', `unknown key ${unknown.map((key) => JSON.stringify(key)).join(', ')}`);
  return { list: value['pipelines'], prefix: 'pipelines' };
}

function readPipeline(
  item: JsonValue,
  place: string,
  decimals: number | null,
  problems: Problems,
): readonly Pipeline[] {
  const before = problems.count;
  const prepared = isJsonObject(item) ? prepare(item, place, problems) : item;
  const complained = problems.count > before;
  const checked = checkInput(pipelineSchema, prepared);
  if ('issues' in checked) {
    for (const problem of checked.issues.map(issueText))
      if (!(complained && /\.amount: /.test(problem))) problems.addAt(place, problem);
    return [];
  }
  const pipeline = checked.value;
  if (isJsonObject(item) && typeof item['payload'] === 'string')
    checkPayload(pipeline.payload, place, problems);
  if (decimals !== null) checkAmounts(pipeline, decimals, place, problems);
  return problems.count > before ? [] : [pipeline];
}

function checkAmounts(pipeline: Pipeline, decimals: number, place: string, problems: Problems): void {
  for (const [index, action] of pipeline.actions.entries()) {
    if (!isSourceAction(action) || !('amount' in action)) continue;
    const reason = checkDecimals(action.amount, decimals);
    if (reason !== undefined) problems.add(`${place}.actions[${index}].amount`, reason);
  }
}

/** A payload given as an object becomes its canonical text; amounts given as text become numbers. */
function prepare(item: JsonObject, place: string, problems: Problems): JsonValue {
  const { payload, actions } = item;
  const list = Array.isArray(actions)
    ? actions.map((action: JsonValue, index) =>
        isJsonObject(action)
          ? withNumberAmount(action, 'amount', `${place}.actions[${index}]`, problems)
          : action,
      )
    : actions;
  return {
    ...item,
    ...(list === undefined ? {} : { actions: list }),
    ...(isJsonObject(payload) ? { payload: payloadText(payload, place, problems) } : {}),
  };
}

function payloadText(payload: JsonObject, place: string, problems: Problems): string {
  try {
    const reason = proofProblem(payload);
    if (reason !== undefined) problems.add(`${place}.payload`, reason);
    return proofText(payload);
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_INVALID_REQUEST')) throw error;
    problems.add(`${place}.payload`, error.message.replace(/\.$/, ''));
    return '{}';
  }
}

function checkPayload(payload: string, place: string, problems: Problems): void {
  try {
    const reason = proofProblem(parseStrictJson(payload).value);
    if (reason !== undefined) problems.add(`${place}.payload`, reason);
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_INVALID_REQUEST')) throw error;
    problems.add(`${place}.payload`, error.message.replace(/\.$/, ''));
  }
}
