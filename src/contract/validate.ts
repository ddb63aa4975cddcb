/** Value → checked value of the contract, or one error that names every problem by its path. */
import type * as z from 'zod';
import { FlywheelError } from '../errors/flywheel-error.js';

/** Problems that one message lists; more are counted. */
const MAX_LISTED_PROBLEMS = 100;

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

/** Lines of the form `path: reason`, as one sentence list. */
export function listProblems(problems: readonly string[]): string {
  const listed = problems.slice(0, MAX_LISTED_PROBLEMS).join('; ');
  const rest = problems.length - MAX_LISTED_PROBLEMS;
  return rest > 0 ? `${listed}; and ${rest} more` : listed;
}

function issueText(issue: z.core.$ZodIssue): string {
  const path = pathText(issue.path);
  const reason =
    issue.code === 'unrecognized_keys'
      ? `unknown key ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}`
      : issue.message;
  return path === '' ? reason : `${path}: ${reason}`;
}

/** Every problem of a value, or its checked form. */
export function checkInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): { readonly value: z.infer<Schema> } | { readonly problems: readonly string[] } {
  const parsed = schema.safeParse(value);
  return parsed.success ? { value: parsed.data } : { problems: parsed.error.issues.map(issueText) };
}

/**
 * The checked form of a value.
 * @throws `ERR_INVALID_REQUEST` naming the path of every problem.
 */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const checked = checkInput(schema, value);
  if ('value' in checked) return checked.value;
  throw new FlywheelError(
    'ERR_INVALID_REQUEST',
    `The request is not valid: ${listProblems(checked.problems)}.`,
  );
}
