/** Validates a value by its schema, or throws one error that lists every problem by path. */
import type * as z from 'zod';
import { FlywheelError } from '../errors/flywheel-error.js';

/** More problems are only counted (contract, section 1.3). */
const MAX_LISTED_PROBLEMS = 20;
const MAX_NAMED_KEYS = 5;
const MAX_KEY_LENGTH = 64;

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** `[3].proof` or `pipelines[0].actions[2].amount`. */
export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (IDENTIFIER.test(String(step))) text += text === '' ? String(step) : `.${String(step)}`;
    else text += `[${JSON.stringify(String(step))}]`;
  }
  return text;
}

/** @param most - problems to list; the others are counted. @default 20 */
export function listProblems(problems: readonly string[], most = MAX_LISTED_PROBLEMS): string {
  const listed = problems.slice(0, most).join('; ');
  const rest = problems.length - most;
  return rest > 0 ? `${listed}; and ${rest} more` : listed;
}

function unknownKeys(keys: readonly string[]): string {
  const named = keys.slice(0, MAX_NAMED_KEYS).map((key) => JSON.stringify(key.slice(0, MAX_KEY_LENGTH)));
  const rest = keys.length - named.length;
  return `unknown key ${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

export interface ShapeIssue {
  readonly path: readonly PropertyKey[];
  readonly reason: string;
}

const toIssue = (issue: z.core.$ZodIssue): ShapeIssue => ({
  path: issue.path,
  reason: issue.code === 'unrecognized_keys' ? unknownKeys(issue.keys) : issue.message,
});

function issueText({ path, reason }: ShapeIssue): string {
  const place = pathText(path);
  return place === '' ? reason : `${place}: ${reason}`;
}

export function checkInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): { readonly value: z.infer<Schema> } | { readonly issues: readonly ShapeIssue[] } {
  const parsed = schema.safeParse(value);
  return parsed.success ? { value: parsed.data } : { issues: parsed.error.issues.map(toIssue) };
}

export const invalidRequest = (problems: readonly string[]): FlywheelError =>
  new FlywheelError('ERR_INVALID_REQUEST', `The request is not valid: ${listProblems(problems)}.`);

/** @throws `ERR_INVALID_REQUEST` with the paths of the first problems. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const checked = checkInput(schema, value);
  if ('value' in checked) return checked.value;
  throw invalidRequest(checked.issues.map(issueText));
}
