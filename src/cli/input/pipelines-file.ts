/**
 * Reads a pipelines file as the checked request of init: `{ "pipelines": [ … ] }`, the array alone, or CSV, one action a row.
 */
import { isSourceAction } from '../../actions/registry.js';
import { MAX_PIPELINES } from '../../contract/limits.js';
import {
  ACTION_FIELDS,
  type InitBatchRequest,
  type Pipeline,
  pipelineSchema,
} from '../../contract/schemas/batch.js';
import { checkInput } from '../../contract/validate.js';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../values/canonical-json.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { checkDecimals, reasonOf } from './amount.js';
import { amountProblem, objectOf, type TableKind, type TableRow, tableRows } from './csv.js';
import {
  type Element,
  type ElementProblems,
  elementsOfList,
  Problems,
  withNumberAmount,
} from './problems.js';
import { type Input, inInput, inputError, proofProblem, requireKind } from './read-input.js';

const IGNORED_KEYS: ReadonlySet<string> = new Set(['pipelines', '$schema']);

const GROUP = 'pipeline';

const TABLE: TableKind = {
  fields: [GROUP, 'type', ...ACTION_FIELDS],
  object: 'payload',
  aliases: new Map(),
  required: ['type', 'action'],
  text: ['message'],
};

/** @param decimals - `null`: the service checks them. @throws `ERR_INPUT_INVALID` with every problem and its place. */
export function readPipelinesFile(input: Input, decimals: number | null): InitBatchRequest {
  const problems = new Problems(input.name);
  const { elements, ...place } =
    input.format === 'csv' ? { elements: elementsOfTable(input, problems) } : elementsOf(input, problems);
  problems.checkCount('pipeline', 'a batch', MAX_PIPELINES, place);
  const pipelines = elements.flatMap((element) => readPipeline(element, decimals) ?? []);
  problems.throwIfAny();
  return { pipelines };
}

/** @returns the elements, and the path of their list */
function elementsOf(
  { name, text }: Input,
  problems: Problems,
): { readonly elements: readonly Element[]; readonly path?: string } {
  const { value } = inInput(name, () => parseStrictJson(text), true);
  requireKind(name, value, 'a pipelines file');
  if (Array.isArray(value)) return { elements: elementsOfList(value, problems) };
  if (!isJsonObject(value) || !Array.isArray(value['pipelines']))
    throw inputError(name, 'expected { "pipelines": [ … ] } or a list of pipelines');
  const unknown = Object.keys(value).filter((key) => !IGNORED_KEYS.has(key));
  if (unknown.length > 0) problems.add(`unknown key ${unknown.map((key) => JSON.stringify(key)).join(', ')}`);
  return { elements: elementsOfList(value['pipelines'], problems, ['pipelines']), path: 'pipelines' };
}

/** Without a column that groups rows, each row is a pipeline. */
function elementsOfTable(input: Input, problems: Problems): readonly Element[] {
  const groups: TableRow[][] = [];
  const seen = new Set<string>();
  let current: string | undefined;
  for (const row of tableRows(input, TABLE, problems)) {
    const name = row.fields.get(GROUP);
    const isNext = name !== undefined && name === current;
    const path = row.label(GROUP);
    if (path !== '' && name === undefined)
      problems.add('expected the name of the pipeline', { line: row.line, path });
    if (name !== undefined && !isNext && seen.has(name))
      problems.add(`the rows of pipeline ${JSON.stringify(name)} are not consecutive`, {
        ...{ line: row.line, path },
      });
    if (isNext) groups.at(-1)?.push(row);
    else groups.push([row]);
    current = name;
    if (name !== undefined) seen.add(name);
  }
  return groups.map((rows) => pipelineOf(rows, problems));
}

/** `actions[2].amount` is a cell of the third row. Fields of the pipeline are in the first row, and may be repeated below. */
function pipelineOf(rows: readonly TableRow[], all: Problems): Element {
  const problems = all.next(([part = '', step, field = '']) => {
    const isInRow = (part === 'actions' || part === 'rows') && typeof step === 'number';
    const row = (isInRow ? rows[step] : undefined) ?? (rows[0] as TableRow);
    const name = String(isInRow ? field : part);
    return { line: row.line, path: name === '' ? '' : row.label(name) };
  });
  const actions = rows.map((row, at) => actionOf(row, at, problems));
  const type = sameIn(
    'type',
    rows.map(({ fields }) => fields.get('type')),
    problems,
  );
  const payload = sameIn(
    'payload',
    rows.map(({ fields }) => payloadOf(fields, problems)),
    problems,
  );
  if (payload === undefined && !problems.has(['payload']))
    problems.add(['payload'], 'expected a JSON object');
  return {
    value: { actions, ...(type !== undefined && { type }), ...(payload !== undefined && { payload }) },
    problems,
  };
}

/** The other rows may repeat the value of the first one, or omit it. */
function sameIn(
  field: string,
  [first, ...more]: readonly (string | undefined)[],
  problems: ElementProblems,
): string | undefined {
  for (const [at, other] of more.entries())
    if (other !== undefined && other !== first)
      problems.add(['rows', at + 1, field], `${field} differs from the first row of the pipeline`);
  return first;
}

function payloadOf(fields: TableRow['fields'], problems: ElementProblems): string | undefined {
  const payload = objectOf(fields, 'payload');
  problems.add(['payload'], payload?.reason);
  return payload?.value && canonicalJson(payload.value);
}

function actionOf({ fields, unreadable }: TableRow, at: number, problems: ElementProblems): JsonValue {
  for (const [field, reason] of unreadable)
    problems.add([ACTION_FIELDS.includes(field) ? 'actions' : 'rows', at, ...(field && [field])], reason);
  const action: Record<string, JsonValue> = {};
  for (const name of ACTION_FIELDS) {
    const cell = fields.get(name);
    if (cell === undefined) continue;
    const problem = name === 'amount' ? amountProblem(cell) : undefined;
    problems.add(['actions', at, name], problem);
    if (problem === undefined) action[name] = cell;
  }
  return action;
}

function readPipeline({ value, problems }: Element, decimals: number | null): Pipeline | undefined {
  const prepared = isJsonObject(value) ? prepare(value, problems) : value;
  const pipeline = problems.checked(checkInput(pipelineSchema, prepared));
  if (pipeline === undefined) return undefined;
  if (isJsonObject(value) && typeof value['payload'] === 'string')
    problems.add(
      ['payload'],
      reasonOf(() => proofProblem(parseStrictJson(pipeline.payload).value)),
    );
  for (const [at, action] of pipeline.actions.entries())
    if (decimals !== null && isSourceAction(action) && 'amount' in action)
      problems.add(['actions', at, 'amount'], checkDecimals(action.amount, decimals));
  return problems.isEmpty ? pipeline : undefined;
}

function prepare(item: JsonObject, problems: ElementProblems): JsonValue {
  const { payload, actions } = item;
  // The API takes text only.
  if (typeof payload !== 'string' && !isJsonObject(payload))
    problems.add(['payload'], 'expected a JSON object');
  const list = Array.isArray(actions)
    ? actions.map((action: JsonValue, at) =>
        isJsonObject(action) ? withNumberAmount(action, ['actions', at, 'amount'], problems) : action,
      )
    : actions;
  return {
    ...item,
    ...(list === undefined ? {} : { actions: list }),
    ...(isJsonObject(payload) ? { payload: payloadText(payload, problems) } : {}),
  };
}

function payloadText(payload: JsonObject, problems: ElementProblems): string {
  const reason = reasonOf(() => proofProblem(payload));
  problems.add(['payload'], reason);
  return reason === undefined ? canonicalJson(payload) : '{}';
}
