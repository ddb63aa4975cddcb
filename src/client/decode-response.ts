/** Answer text → checked value, or the service's error; unknown fields are ignored, anything else odd is not. */
import * as z from 'zod';
import { pathText } from '../contract/validate.js';
import { ERRORS, isErrorCode } from '../errors/codes.js';
import { EXIT, type ExitCode } from '../errors/exit-codes.js';
import { errorFromBody, FlywheelError } from '../errors/flywheel-error.js';
import type { HttpAnswer } from './transport.js';

/** Objects that refuse unknown keys lie within answers too; more rounds than they are deep. */
const MAX_ROUNDS = 8;
const MAX_MESSAGE_LENGTH = 20_000;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** How an answer looks to one who expected something else. */
function describeAnswer(answer: HttpAnswer): string {
  if (answer.text.trim() === '') return 'nothing';
  if (parseJson(answer.text) !== undefined) return 'JSON that is not of the API';
  const type = (answer.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';
  if (/html/i.test(type) || /^\s*<(?:!doctype|html)/i.test(answer.text)) return 'an HTML page';
  if (/json/i.test(type)) return 'incomplete or broken JSON';
  return type === '' ? 'something that is not JSON' : `${type.slice(0, 60)}, not JSON`;
}

function removeKeys(value: unknown, path: readonly PropertyKey[], keys: readonly string[]): void {
  let inner = value;
  for (const step of path)
    inner = typeof inner === 'object' && inner !== null ? Reflect.get(inner, step) : undefined;
  if (typeof inner !== 'object' || inner === null) return;
  for (const key of keys) Reflect.deleteProperty(inner, key);
}

/** Checks a value of its own making, so that unknown keys may be taken out of it. */
function checkTolerantly<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): { readonly value: z.infer<Schema> } | { readonly problem: string } {
  let problem = 'too many unknown fields';
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const parsed = schema.safeParse(value);
    if (parsed.success) return { value: parsed.data };
    const other = parsed.error.issues.find((issue) => issue.code !== 'unrecognized_keys');
    if (other !== undefined) {
      problem = `${pathText(other.path)}: ${other.message}`.replace(/^: /, '');
      break;
    }
    for (const issue of parsed.error.issues) {
      if (issue.code === 'unrecognized_keys') removeKeys(value, issue.path, issue.keys);
    }
  }
  return { problem };
}

const context = (answer: HttpAnswer): { readonly status: number; readonly requestId?: string } => {
  const requestId = answer.headers['x-request-id'];
  return {
    status: answer.status,
    ...(requestId === undefined ? {} : { requestId: requestId.slice(0, 200) }),
  };
};

/**
 * The value of a successful answer.
 * @throws `ERR_RESPONSE_INVALID` saying what came instead.
 */
export function decodeValue<Schema extends z.ZodType>(schema: Schema, answer: HttpAnswer): z.infer<Schema> {
  const json = parseJson(answer.text);
  if (json === undefined) {
    throw new FlywheelError(
      'ERR_RESPONSE_INVALID',
      `The service answered ${answer.status} with ${describeAnswer(answer)}.`,
      { ...context(answer), hint: 'Check that the API address is that of the service, path included.' },
    );
  }
  const checked = checkTolerantly(schema, json);
  if ('value' in checked) return checked.value;
  throw new FlywheelError(
    'ERR_RESPONSE_INVALID',
    `The service answered ${answer.status} with JSON that is not of the API: ${checked.problem}.`,
    context(answer),
  );
}

const lenientProblem = z.object({
  error: z.union([z.string().min(1), z.number()]),
  message: z.string().optional(),
});

/** The exit number that a status stands for, where the code does not say. */
export function exitOfStatus(status: number): ExitCode {
  if (status === 401 || status === 403) return EXIT.auth;
  if (status === 408 || status === 429 || (status >= 502 && status <= 504)) return EXIT.unavailable;
  return status >= 500 ? EXIT.internal : EXIT.refused;
}

export interface DecodedProblem {
  readonly error: FlywheelError;
  /** Is it the service that speaks, in the shape of the contract, and not something in between? */
  readonly trusted: boolean;
}

/** The error that an answer with a status of 300 or more stands for. */
export function decodeProblem(answer: HttpAnswer): DecodedProblem {
  const parsed = lenientProblem.safeParse(parseJson(answer.text));
  if (!parsed.success) {
    const message = `The service answered ${answer.status} with ${describeAnswer(answer)} instead of an error of the API.`;
    const code = answer.status === 429 ? 'ERR_RATE_LIMIT_EXCEEDED' : 'ERR_RESPONSE_INVALID';
    const exit = exitOfStatus(answer.status);
    return { error: new FlywheelError(code, message, { ...context(answer), exit }), trusted: false };
  }
  const code = String(parsed.data.error);
  const message = (parsed.data.message ?? `The service answered ${answer.status}.`).slice(
    0,
    MAX_MESSAGE_LENGTH,
  );
  // A code of the command line's own says nothing when it comes from elsewhere.
  const known = isErrorCode(code) && ERRORS[code].status !== null;
  const options = { ...context(answer), ...(known ? {} : { exit: exitOfStatus(answer.status) }) };
  const error = known
    ? errorFromBody({ error: code, message }, options)
    : new FlywheelError('ERR_INTERNAL', message, { ...options, foreignCode: code.slice(0, 200) });
  return { error, trusted: true };
}
