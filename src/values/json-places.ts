/** Where values stand in JSON text that is known to be well-formed: found only once somebody has to be shown the place. */
import type { Position } from '../errors/flywheel-error.js';

/** The steps of paths that are looked for, from one value on. */
interface Node {
  /** Which of the paths end here. */
  readonly ends: number[];
  readonly steps: Map<string, Node>;
}

const node = (): Node => ({ ends: [], steps: new Map() });
const WHITE_SPACE = /[ \t\n\r]*/y;
const SCALAR = /[^\s,\]}]+/y;

/**
 * Where the values of these paths begin, each as an offset; of a path that leads nowhere, where the last value on its way
 * begins. The text is walked once.
 */
export function jsonOffsets(text: string, paths: readonly (readonly PropertyKey[])[]): readonly number[] {
  const root = node();
  for (const [index, path] of paths.entries()) {
    let at = root;
    for (const step of path) {
      const next = at.steps.get(String(step)) ?? node();
      at.steps.set(String(step), next);
      at = next;
    }
    at.ends.push(index);
  }
  const offsets = paths.map(() => 0);
  new Walk(text, offsets).value(0, root);
  return offsets;
}

class Walk {
  readonly #text: string;
  readonly #offsets: number[];

  constructor(text: string, offsets: number[]) {
    this.#text = text;
    this.#offsets = offsets;
  }

  /** Walks over a value. @returns where it ends. */
  value(from: number, wanted: Node | undefined): number {
    const at = this.#space(from);
    if (wanted !== undefined) this.#found(at, wanted);
    const first = this.#text[at];
    if (first === '"') return this.#stringEnd(at);
    if (first === '{') return this.#items(at, wanted, true);
    if (first === '[') return this.#items(at, wanted, false);
    SCALAR.lastIndex = at;
    return SCALAR.test(this.#text) ? SCALAR.lastIndex : at + 1;
  }

  /** Everything below begins here at the latest: what is not there keeps the place of what holds it. */
  #found(at: number, { ends, steps }: Node): void {
    for (const index of ends) this.#offsets[index] = at;
    for (const next of steps.values()) this.#found(at, next);
  }

  #items(start: number, wanted: Node | undefined, isObject: boolean): number {
    let at = this.#space(start + 1);
    for (let index = 0; at < this.#text.length && !this.#closes(at); index += 1) {
      let step = String(index);
      if (isObject) {
        const end = this.#stringEnd(at);
        if (wanted !== undefined) step = JSON.parse(this.#text.slice(at, end)) as string;
        // The colon.
        at = this.#space(end) + 1;
      }
      at = this.#space(this.value(at, wanted?.steps.get(step)));
      if (this.#text[at] === ',') at = this.#space(at + 1);
    }
    return at + 1;
  }

  #closes(at: number): boolean {
    const code = this.#text[at];
    return code === ']' || code === '}';
  }

  #stringEnd(start: number): number {
    for (let at = start + 1; at < this.#text.length; at += 1) {
      const quote = this.#text.indexOf('"', at);
      if (quote < 0) break;
      let slashes = 0;
      while (this.#text[quote - 1 - slashes] === '\\') slashes += 1;
      if (slashes % 2 === 0) return quote + 1;
      at = quote;
    }
    return this.#text.length;
  }

  #space(at: number): number {
    WHITE_SPACE.lastIndex = at;
    WHITE_SPACE.test(this.#text);
    return WHITE_SPACE.lastIndex;
  }
}

/** Line and column of offsets in a text, in the order of the offsets given. */
export function positionsOf(text: string, offsets: readonly number[]): readonly Position[] {
  const positions: Position[] = offsets.map(() => ({ line: 1, column: 1 }));
  const order = offsets.map((_, index) => index).sort((a, b) => (offsets[a] ?? 0) - (offsets[b] ?? 0));
  let line = 1;
  let lineStart = 0;
  for (const index of order) {
    const offset = offsets[index] ?? 0;
    for (
      let end = text.indexOf('\n', lineStart);
      end >= 0 && end < offset;
      end = text.indexOf('\n', lineStart)
    ) {
      line += 1;
      lineStart = end + 1;
    }
    positions[index] = { line, column: offset - lineStart + 1 };
  }
  return positions;
}
