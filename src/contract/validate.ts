/** Value → checked value of the contract, or one error that names every problem by its path. */
import type * as z from 'zod';
import { FlywheelError } from '../errors/flywheel-error.js';

/** Problems that a message of the service lists; more are counted (contract, section 1.3). */
const MAX_LISTED_PROBLEMS = 20;
/** Unknown keys that one problem names, and how much of each. */
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

/** Lines of the form `path: reason`, as one sentence list. @param most - lines that are listed. @default 20 */
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

/** One thing that is wrong with a value; the reason has no full stop. */
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

/** The error of a request whose shape is wrong. @param problems - `path: reason` each, without a full stop. */
export const invalidRequest = (problems: readonly string[]): FlywheelError =>
  new FlywheelError('ERR_INVALID_REQUEST', `The request is not valid: ${listProblems(problems)}.`);

/** The checked form of a value. @throws `ERR_INVALID_REQUEST` naming the path of the first problems. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const checked = checkInput(schema, value);
  if ('value' in checked) return checked.value;
  throw invalidRequest(checked.issues.map(issueText));
}
