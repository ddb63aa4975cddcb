/** Collects the problems of a file, each with its place, to report all of them at once. */

import { pathText, type ShapeIssue } from '../../contract/validate.js';
import { FlywheelError, type PlacedProblem } from '../../errors/flywheel-error.js';
import type { JsonValue } from '../../values/canonical-json.js';
import { InexactNumber } from '../../values/exact-number.js';
import { grouped } from '../../values/token-amount.js';
import { readAmountText, shortened } from './amount.js';

/** Further problems are only counted. */
const MAX_KEPT = 1_000;

const FIELDS = 'For the fields of each kind of file, run `flywheel help files`.';

type Path = readonly PropertyKey[];

/** `path` is empty for the whole element. */
type Place = Required<Pick<PlacedProblem, 'path'>> & Pick<PlacedProblem, 'line'>;

export interface Element {
  readonly value: JsonValue;
  readonly problems: ElementProblems;
}

export class Problems {
  readonly #file: string;
  readonly #kept: PlacedProblem[] = [];
  #count = 0;
  #elements = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** @param message - without a full stop. */
  add(message: string, { path = '', ...place }: Omit<PlacedProblem, 'message'> = {}): void {
    this.#count += 1;
    if (this.#kept.length < MAX_KEPT) this.#kept.push({ ...place, ...(path && { path }), message });
  }

  /** For the next element. @param placeOf - position of a part of the element. */
  next(placeOf: (path: Path) => Place): ElementProblems {
    const index = this.#elements;
    this.#elements += 1;
    return new ElementProblems((path, reason) => this.add(reason, { index, ...placeOf(path) }));
  }

  /** @param noun - such as `burn`. @param what - has at most that many */
  checkCount(noun: string, what: string, most: number, place = {}): void {
    const count = this.#elements;
    if (count === 0) this.add(`expected at least one ${noun}`, place);
    if (count > most)
      this.add(`${what} has at most ${grouped(most)} ${noun}s, got ${grouped(count)}: split the file`, place);
  }

  throwIfAny(): void {
    if (this.#count === 0) return;
    const more = this.#count - this.#kept.length;
    const listed = this.#kept.toSorted((left, right) => (left.index ?? -1) - (right.index ?? -1));
    const sentences = listed.map(({ line, path, message }) => {
      const where = [line === undefined ? [] : `line ${line}`, path ?? []].flat().join(', ');
      return where === '' ? message : `${where}: ${message}`;
    });
    const list = `${sentences.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `${this.#file}: ${this.#count} problem${this.#count === 1 ? '' : 's'}, nothing was sent: ${list}.`,
      { problems: { file: this.#file, count: this.#count, listed }, hint: FIELDS },
    );
  }
}

export class ElementProblems {
  readonly #note: (path: Path, reason: string) => void;
  readonly #paths = new Set<string>();

  constructor(note: (path: Path, reason: string) => void) {
    this.#note = note;
  }

  get isEmpty(): boolean {
    return this.#paths.size === 0;
  }

  /** @param reason - without a full stop; `undefined`: no problem. */
  add(path: Path, reason: string | undefined): void {
    if (reason === undefined) return;
    this.#paths.add(pathText(path));
    this.#note(path, reason);
  }

  has(path: Path): boolean {
    return this.#paths.has(pathText(path));
  }

  /** `undefined` after its problems were added. A field gets at most one problem. */
  checked<Checked>(
    checked: { readonly value: Checked } | { readonly issues: readonly ShapeIssue[] },
  ): Checked | undefined {
    if ('value' in checked) return checked.value;
    for (const { path, reason } of checked.issues) if (!this.has(path)) this.add(path, reason);
    return undefined;
  }
}

export const elementsOfList = (
  list: readonly JsonValue[],
  problems: Problems,
  steps: Path = [],
): readonly Element[] =>
  list.map((value, index) => ({
    value,
    problems: problems.next((path) => ({ path: pathText([...steps, index, ...path]) })),
  }));

/** Turns a decimal string into the number of the same value. A number that JSON would round is a problem. */
export function withNumberAmount(
  object: Readonly<Record<string, JsonValue>>,
  path: Path,
  problems: ElementProblems,
): JsonValue {
  const key = String(path.at(-1));
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  if (value instanceof InexactNumber)
    problems.add(path, `JSON would round ${shortened(value.text)}: write a decimal string`);
  if (typeof value !== 'string') return object;
  const amount = readAmountText(value);
  if ('value' in amount) return { ...object, [key]: amount.value };
  problems.add(path, amount.problem);
  return object;
}
