/** Collects what is wrong with an input, each thing with its place, to report all of it at once. */
import { pathText } from '../../contract/validate.js';
import { FlywheelError, type PlacedProblem, type Position } from '../../errors/flywheel-error.js';
import { jsonOffsets, positionsOf } from '../../values/json-places.js';

/** Problems that are kept word for word; of more only the number is given. */
const MAX_KEPT = 1_000;

type Path = readonly PropertyKey[];

/** What problems of one element need to know of it. */
export interface ElementPlace {
  /** In the file, from 0. */
  readonly index: number;
  /** How a sentence calls a part of it: `[3].proof`, `line 7.proof`. */
  name(path: Path): string;
  /** The same for people who are shown line and column beside it. */
  label(path: Path): string;
  /** Where a part of it stands; a path in the whole text, where that is found at the end. */
  locate(path: Path): Position | { readonly steps: Path };
}

interface Kept extends PlacedProblem {
  /** Path in the whole text. */
  readonly steps?: Path;
}

/** An element of a JSON text: its place is looked up only if there is a problem. */
export const placeInText = (steps: Path, index: number): ElementPlace => ({
  index,
  name: (path) => pathText([...steps, ...path]),
  label: (path) => pathText([...steps, ...path]),
  locate: (path) => ({ steps: [...steps, ...path] }),
});

/** Problems of one input. */
export class Problems {
  readonly #file: string;
  readonly #sentences: string[] = [];
  readonly #kept: Kept[] = [];
  #count = 0;

  constructor(file: string) {
    this.#file = file;
  }

  get count(): number {
    return this.#count;
  }

  /** Notes a problem, by the name of its place, which may be empty; the reason has no full stop. */
  add(place: string, reason: string, more: Omit<Kept, 'message'> = {}): void {
    this.#count += 1;
    if (this.#kept.length === MAX_KEPT) return;
    this.#sentences.push(place === '' ? reason : `${place}: ${reason}`);
    this.#kept.push({ ...more, message: reason });
  }

  /** Takes problems of one element. */
  of(place: ElementPlace): ElementProblems {
    return new ElementProblems(this, place);
  }

  /**
   * @param text - the whole text, where places in it are still to be found.
   * @throws `ERR_INPUT_INVALID` when there is any.
   */
  throwIfAny(text?: string): void {
    if (this.#count === 0) return;
    const more = this.#count - this.#kept.length;
    const list = `${this.#sentences.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `${this.#file}: ${this.#count} problem${this.#count === 1 ? '' : 's'}; nothing was sent: ${list}.`,
      { problems: { file: this.#file, count: this.#count, listed: this.#located(text) } },
    );
  }

  #located(text: string | undefined): readonly PlacedProblem[] {
    const paths = this.#kept.map(({ steps }) => steps ?? []);
    const positions = text === undefined ? [] : positionsOf(text, jsonOffsets(text, paths));
    return this.#kept.map(({ steps, ...problem }, at) => ({
      ...(steps === undefined ? {} : positions[at]),
      ...problem,
    }));
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
    const name = this.#place.name(path);
    this.#all.add(name, reason, {
      index,
      ...this.#place.locate(path),
      ...(label === '' ? {} : { path: label }),
    });
  }
}
