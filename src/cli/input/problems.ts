/** Collects what is wrong with an input, each thing with its place, to report all of it at once. */
import { pathText } from '../../contract/validate.js';
import { FlywheelError, type PlacedProblem } from '../../errors/flywheel-error.js';

/** Problems that are kept word for word; of more only the number is given. */
const MAX_KEPT = 1_000;

type Path = readonly PropertyKey[];

/** What problems of one element need to know of it. */
export interface ElementPlace {
  /** In the file, from 0. */
  readonly index: number;
  /** How a sentence calls a part of it: `[3].proof`, `line 7.proof`. */
  name(path: Path): string;
  /** The same for people who are shown the line beside it. */
  label(path: Path): string;
  /** On which line a part of it stands; `undefined` where elements have no lines of their own. */
  line(path: Path): number | undefined;
}

/** An element of a JSON text. */
export function placeInText(steps: Path, index: number): ElementPlace {
  const label = (path: Path): string => pathText([...steps, ...path]);
  return { index, name: label, label, line: () => undefined };
}

/** Problems of one input. */
export class Problems {
  readonly #file: string;
  readonly #sentences: string[] = [];
  readonly #kept: PlacedProblem[] = [];
  #count = 0;

  constructor(file: string) {
    this.#file = file;
  }

  get count(): number {
    return this.#count;
  }

  /** Notes a problem, by the name of its place, which may be empty; the reason has no full stop. */
  add(place: string, reason: string, more: Omit<PlacedProblem, 'message'> = {}): void {
    this.#count += 1;
    if (this.#kept.length === MAX_KEPT) return;
    this.#sentences.push(place === '' ? reason : `${place}: ${reason}`);
    this.#kept.push({ ...more, message: reason });
  }

  /** Takes problems of one element. */
  of(place: ElementPlace): ElementProblems {
    return new ElementProblems(this, place);
  }

  /** @throws `ERR_INPUT_INVALID` when there is any. */
  throwIfAny(): void {
    if (this.#count === 0) return;
    const more = this.#count - this.#kept.length;
    const list = `${this.#sentences.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `${this.#file}: ${this.#count} problem${this.#count === 1 ? '' : 's'}, nothing was sent: ${list}.`,
      { problems: { file: this.#file, count: this.#count, listed: this.#kept } },
    );
  }
}

/** Problems of one element, and of which parts of it there are some. */
export class ElementProblems {
  readonly #all: Problems;
  readonly #place: ElementPlace;
  readonly #paths = new Set<string>();

  constructor(all: Problems, place: ElementPlace) {
    this.#all = all;
    this.#place = place;
  }

  get isEmpty(): boolean {
    return this.#paths.size === 0;
  }

  /** Is there one of exactly this part? */
  has(path: Path): boolean {
    return this.#paths.has(pathText(path));
  }

  /** Notes a problem of a part; the reason has no full stop. */
  add(path: Path, reason: string): void {
    this.#paths.add(pathText(path));
    const { index } = this.#place;
    const label = this.#place.label(path);
    const line = this.#place.line(path);
    this.#all.add(this.#place.name(path), reason, {
      index,
      ...(line === undefined ? {} : { line }),
      ...(label === '' ? {} : { path: label }),
    });
  }
}
