/** The text of an answer → its checked value, or the error of the service. Unknown fields are ignored. */
import * as z from 'zod';
import { IDEMPOTENCY_KEY_UNUSED_HEADER, REQUEST_ID_HEADER } from '../contract/headers.js';
import { pathText } from '../contract/validate.js';
import { ERRORS, isErrorCode } from '../errors/codes.js';
import { EXIT, exitOfStatus } from '../errors/exit-codes.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { HttpAnswer } from '../transport/transport.js';
import { MAX_JSON_DEPTH } from '../values/canonical-json.js';
import { measureJson } from '../values/strict-json.js';
import { visibleLine } from '../values/text.js';
import type { Mask } from './mask.js';

/** A page of the most and largest items fits. */
export const MAX_ANSWER_BYTES = 64 * 1_024 * 1_024;
/** Of any kind and at any depth. */
const MAX_VALUES = 1_000_000;
/** Levels of an answer around its proofs. */
const WRAPPING_LEVELS = 8;
const MAX_DEPTH = MAX_JSON_DEPTH + WRAPPING_LEVELS;

/** Why a JSON text is not parsed, to follow "answered 200 with …", or `undefined`. */
export function overBounds(text: string): string | undefined {
  const { values, depth } = measureJson(text, MAX_DEPTH);
  if (depth > MAX_DEPTH) return `JSON that is nested deeper than ${MAX_DEPTH} levels`;
  return values > MAX_VALUES ? `JSON of more than ${MAX_VALUES} values` : undefined;
}

/** More than the nesting of objects in any answer. */
const MAX_ROUNDS = 8;
const MAX_MESSAGE_LENGTH = 20_000;
const MAX_SHOWN_LENGTH = 200;

/** @returns `instead` to follow "answered 200 with …" */
function readJson(
  { text, headers, unread }: HttpAnswer,
  mask: Mask,
): { readonly json: unknown } | { readonly instead: string } {
  const instead = unread ?? (text.trim() === '' ? 'nothing' : overBounds(text));
  if (instead !== undefined) return { instead: shown(mask(instead)) };
  try {
    return { json: JSON.parse(text) };
  } catch {
    return { instead: describeText(text, mask(headers['content-type'] ?? '')) };
  }
}

const UNFIT = 'JSON that does not fit the API';
const CHECK_ADDRESS = 'Check the API address, including its path, and any proxy in front of the service.';

const shown = (text: string): string => visibleLine(text).slice(0, MAX_SHOWN_LENGTH);

function describeText(text: string, contentType: string): string {
  const type = shown(contentType.split(';')[0] ?? '').trim();
  if (/html/i.test(type) || /^\s*<(?:!doctype|html)/i.test(text)) return 'an HTML page';
  if (/json/i.test(type)) return 'incomplete or broken JSON';
  return type === '' ? 'something that is not JSON' : `${type}, not JSON`;
}

function nested(value: unknown, path: readonly PropertyKey[]): object | undefined {
  let inner = value;
  for (const step of path)
    inner = typeof inner === 'object' && inner !== null ? Reflect.get(inner, step) : undefined;
  return typeof inner === 'object' && inner !== null ? inner : undefined;
}

/** Removes unknown keys and `null` fields that an issue reports. */
function removeIgnorable(value: unknown, issue: z.core.$ZodIssue): boolean {
  if (issue.code === 'unrecognized_keys') {
    const object = nested(value, issue.path);
    if (object === undefined) return false;
    for (const key of issue.keys) Reflect.deleteProperty(object, key);
    return true;
  }
  const key = issue.path.at(-1);
  const object = nested(value, issue.path.slice(0, -1));
  if (key === undefined || object === undefined || Array.isArray(object)) return false;
  return Reflect.get(object, key) === null && Reflect.deleteProperty(object, key);
}

/** Modifies `value`: unknown fields and `null` fields are removed. A required `null` field is then missing. */
function checkTolerantly<Value>(
  schema: z.ZodType<Value>,
  value: unknown,
): { readonly value: Value } | { readonly problem: string } {
  let problem = 'too many unknown fields';
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const parsed = schema.safeParse(value);
    if (parsed.success) return { value: parsed.data };
    const left = parsed.error.issues.filter((issue) => !removeIgnorable(value, issue));
    const [first] = left;
    if (first !== undefined) {
      problem = `${pathText(first.path)}: ${first.message}`.replace(/^: /, '');
      break;
    }
  }
  return { problem };
}

export const answerContext = (
  { status, headers }: HttpAnswer,
  mask: Mask,
): { readonly status: number; readonly requestId?: string } => {
  const requestId = headers[REQUEST_ID_HEADER];
  return { status, ...(requestId === undefined ? {} : { requestId: shown(mask(requestId)) }) };
};

/** @throws `ERR_RESPONSE_INVALID` with a description of the answer. */
export function decodeValue<Value>(schema: z.ZodType<Value>, answer: HttpAnswer, mask: Mask): Value {
  const read = readJson(answer, mask);
  const checked = 'json' in read ? checkTolerantly(schema, read.json) : read;
  if ('value' in checked) return checked.value;
  const isJson = 'problem' in checked;
  const what = isJson ? `${UNFIT}: ${shown(mask(checked.problem))}` : checked.instead;
  throw new FlywheelError('ERR_RESPONSE_INVALID', `The service answered ${answer.status} with ${what}.`, {
    ...{ ...answerContext(answer, mask), ...(isJson ? {} : { hint: CHECK_ADDRESS }) },
  });
}

const lenientProblem = z.object({
  error: z.union([z.string().min(1), z.number()]),
  message: z.string().nullish(),
});

/** Only a refusal can prove an unused key: after a 500 anything may have happened. */
function keyUse({ status, headers }: HttpAnswer): { readonly keyUnused?: true } {
  const isRefusal = status >= 400 && status < 500;
  return isRefusal && headers[IDEMPOTENCY_KEY_UNUSED_HEADER] === 'true' ? { keyUnused: true } : {};
}

/** @returns `trusted`: the answer has the format of the contract, so the service itself answers, not a proxy. */
export function decodeProblem(
  answer: HttpAnswer,
  mask: Mask,
): { readonly error: FlywheelError; readonly trusted: boolean } {
  const read = readJson(answer, mask);
  const parsed = lenientProblem.safeParse('json' in read ? read.json : undefined);
  if (!parsed.success) {
    const instead = 'instead' in read ? read.instead : UNFIT;
    const message = `The service answered ${answer.status} with ${instead} instead of an API error.`;
    const options = {
      ...{ ...answerContext(answer, mask), exit: exitOfStatus(answer.status) },
      // Of other statuses the address is the least likely cause.
      ...(answer.status === 404 && { hint: CHECK_ADDRESS }),
    };
    return { error: new FlywheelError('ERR_RESPONSE_INVALID', message, options), trusted: false };
  }
  const code = String(parsed.data.error);
  const said = mask(parsed.data.message ?? `The service answered ${answer.status}.`);
  const message = said.slice(0, MAX_MESSAGE_LENGTH);
  // Codes of the command line itself have no meaning in an answer.
  const known = isErrorCode(code) && ERRORS[code].status !== null;
  // Exit code `usage` would claim that nothing was sent, which is false for a refusal by the service.
  const own = known && ERRORS[code].exit !== EXIT.usage ? {} : { exit: exitOfStatus(answer.status) };
  const options = { ...answerContext(answer, mask), ...own, ...keyUse(answer) };
  const error = known
    ? new FlywheelError(code, message, options)
    : new FlywheelError('ERR_INTERNAL', message, { ...options, foreignCode: shown(mask(code)) });
  return { error, trusted: true };
}
