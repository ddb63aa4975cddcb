/** One element of a file, before its shape is checked. */
import type { ShapeIssue } from '../../contract/validate.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { JsonValue } from '../../values/canonical-json.js';
import { InexactNumber } from '../../values/exact-number.js';
import { readAmountText } from './amount.js';
import type { ElementPlace, ElementProblems } from './problems.js';

/** A value and where it stands. */
export interface Element {
  readonly value: JsonValue;
  readonly place: ElementPlace;
  /** Parts that could not be made out, and why. */
  readonly unreadable?: readonly Unreadable[];
}

export interface Unreadable {
  readonly path: readonly PropertyKey[];
  /** Without a full stop. */
  readonly reason: string;
}

/** Characters of an amount that a problem quotes. */
const MAX_SHOWN = 60;

/** The checked value, or `undefined` after all of its problems were noted; what has one already is not complained of twice. */
export function checkedOr<Checked>(
  checked: { readonly value: Checked } | { readonly issues: readonly ShapeIssue[] },
  problems: ElementProblems,
): Checked | undefined {
  if ('value' in checked) return checked.value;
  for (const { path, reason } of checked.issues) if (!problems.has(path)) problems.add(path, reason);
  return undefined;
}

/** What a check of part of an element complains of, without a full stop. */
export function reasonOf(check: () => string | undefined): string | undefined {
  try {
    return check();
  } catch (error) {
    if (error instanceof FlywheelError) return error.message.replace(/\.$/, '');
    throw error;
  }
}

/**
 * The object with a decimal string in an amount position turned into the number that is the same decimal. A number that is
 * not the one written is a problem.
 */
export function withNumberAmount(
  object: Readonly<Record<string, JsonValue>>,
  path: readonly PropertyKey[],
  problems: ElementProblems,
): JsonValue {
  const key = String(path.at(-1));
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  const complain = (problem: string): JsonValue => {
    problems.add(path, problem);
    return object;
  };
  if (value instanceof InexactNumber) {
    const shown = value.text.length > MAX_SHOWN ? `${value.text.slice(0, MAX_SHOWN)}…` : value.text;
    return complain(`JSON would round ${shown}; write it as a decimal string`);
  }
  if (typeof value !== 'string') return object;
  const amount = readAmountText(value);
  return 'value' in amount ? { ...object, [key]: amount.value } : complain(amount.problem);
}
