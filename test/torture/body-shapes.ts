/** Shapes of JSON bodies: made at random, changed at random, written as text of a size that is asked for. */
import type { Random } from '../fuzz/random.js';

/** A value, and what is repeated in it; every repetition is written with another index. */
export type Shape =
  | { readonly kind: 'array'; readonly times: number; readonly of: Shape }
  | { readonly kind: 'object'; readonly times: number; readonly key: number; readonly of: Shape }
  | { readonly kind: 'string'; readonly times: number; readonly piece: number }
  | { readonly kind: 'leaf'; readonly leaf: number };

/** A body: what it is a list of, in which request. */
export interface BodyShape {
  readonly frame: number;
  readonly space: number;
  readonly of: Shape;
}

const PIECES = ['x', 'é', '中', '😀', '\\n', '\\u4e2d', '\\ud83d\\ude00', '\\"', '\u007f'] as const;
const KEYS: readonly ((index: number) => string)[] = [
  (index) => `k${index}`,
  (index) => `${index}`,
  (index) => `${(index * 4_294_967) % 4_294_967_295}`,
  (index) => `${index.toString(36)}${'😀'.repeat(9)}`,
  (index) => `${index.toString(36)}${'\\n'.repeat(20)}`,
  (index) => `${'a'.repeat(60)}${index}`,
  (index) => ['type', 'proof', 'burnAmount', 'persistOnchain', `type${index}`][index % 5] ?? '',
  (index) => (index === 0 ? '__proto__' : `\\u006b${index}`),
];
const LEAVES: readonly ((index: number) => string)[] = [
  () => '1',
  (index) => String(index),
  () => 'null',
  () => '{}',
  () => '[]',
  () => '""',
  (index) => `1.${index}e-300`,
  (index) => `0.${'1'.repeat(40)}${index}`,
  (index) => `${index + 1}${'0'.repeat(30)}`,
  () => '1e400',
  () => '-0',
  () => `1${'2'.repeat(300)}`,
];
const SPACES = ['', ' ', '\n', ' \t\r\n'] as const;

/** Requests that a value is put into. */
export const FRAMES: readonly { readonly path: string; readonly wrap: (elements: string[]) => string }[] = [
  { path: '/v1/tokenomics/burn-batch', wrap: (elements) => `[${elements.join()}]` },
  {
    path: '/v1/tokenomics/burn-batch',
    wrap: (elements) =>
      `[${elements.map((proof) => `{"type":"PRODUCT_BUY","proof":{"p":${proof}},"burnAmount":-1,"persistOnchain":false}`).join()}]`,
  },
  {
    path: '/v1/tokenomics/burn',
    wrap: (elements) =>
      `{"type":"PRODUCT_BUY","proof":{"p":[${elements.join()}]},"burnAmount":-1,"persistOnchain":false}`,
  },
  { path: '/v1/flywheel/batch/init', wrap: (elements) => `{"pipelines":[${elements.join()}]}` },
  {
    path: '/v1/flywheel/batch/init',
    wrap: (elements) =>
      `{"pipelines":[${elements.map((value) => `{"type":"PRODUCT_BUY","payload":${JSON.stringify(`{"p":${value}}`)},"actions":[]}`).join()}]}`,
  },
  {
    path: '/v1/flywheel/batch/init',
    wrap: (elements) =>
      `{"pipelines":[{"type":"PRODUCT_BUY","payload":"{}","actions":[${elements.join()}]}]}`,
  },
];

const MOST_TIMES = 4_000;
const MOST_LEVELS = 6;

/** A number that is small more often than large. */
const times = (random: Random): number =>
  1 + random.below(1 + random.below(random.pick([3, 60, MOST_TIMES])));

export function randomShape(random: Random, levels = MOST_LEVELS): Shape {
  const kind = levels === 0 ? 'leaf' : random.pick(['array', 'object', 'object', 'string', 'leaf'] as const);
  switch (kind) {
    case 'array':
      return { kind, times: times(random), of: randomShape(random, levels - 1) };
    case 'object':
      return {
        kind,
        times: times(random),
        key: random.below(KEYS.length),
        of: randomShape(random, levels - 1),
      };
    case 'string':
      return { kind, times: times(random), piece: random.below(PIECES.length) };
    case 'leaf':
      return { kind, leaf: random.below(LEAVES.length) };
  }
}

export const randomBody = (random: Random): BodyShape => ({
  frame: random.below(FRAMES.length),
  space: random.oneIn(4) ? random.below(SPACES.length) : 0,
  of: randomShape(random),
});

/** Another body that differs in one thing. */
export function changedBody(random: Random, body: BodyShape): BodyShape {
  if (random.oneIn(8)) return { ...body, frame: random.below(FRAMES.length) };
  if (random.oneIn(12)) return { ...body, space: random.below(SPACES.length) };
  return { ...body, of: changed(random, body.of) };
}

function changed(random: Random, shape: Shape): Shape {
  const deeper = 'of' in shape && !random.oneIn(3);
  if (deeper) return { ...shape, of: changed(random, shape.of) };
  if (random.oneIn(4)) return randomShape(random, 3);
  if (random.oneIn(6)) return { kind: 'array', times: times(random), of: shape };
  switch (shape.kind) {
    case 'object':
      return random.oneIn(2)
        ? { ...shape, key: random.below(KEYS.length) }
        : { ...shape, times: times(random) };
    case 'string':
      return random.oneIn(2)
        ? { ...shape, piece: random.below(PIECES.length) }
        : { ...shape, times: times(random) };
    case 'array':
      return random.oneIn(3) ? shape.of : { ...shape, times: times(random) };
    case 'leaf':
      return { ...shape, leaf: random.below(LEAVES.length) };
  }
}

/** Writes one value after the other until the text is long enough, or holds as many values as a body may. */
export class BodyWriter {
  readonly #mostBytes: number;
  readonly #mostValues: number;
  #bytes = 0;
  #values = 0;
  #index = 0;

  constructor(most: { readonly bytes: number; readonly values: number }) {
    this.#mostBytes = most.bytes;
    this.#mostValues = most.values;
  }

  write(
    { frame, space, of }: BodyShape,
    mostElements: number,
  ): { readonly path: string; readonly text: string } {
    const elements: string[] = [];
    while (elements.length < mostElements && !this.#isFull)
      elements.push(this.#value(of, SPACES[space] ?? ''));
    const chosen = FRAMES[frame];
    if (chosen === undefined) throw new Error('There is no such frame.');
    return { path: chosen.path, text: chosen.wrap(elements) };
  }

  get #isFull(): boolean {
    return this.#bytes >= this.#mostBytes || this.#values >= this.#mostValues;
  }

  #value(shape: Shape, space: string): string {
    this.#values += 1;
    this.#index += 1;
    switch (shape.kind) {
      case 'leaf':
        return this.#count(LEAVES[shape.leaf]?.(this.#index) ?? '0');
      case 'string':
        return this.#count(`"${(PIECES[shape.piece] ?? '').repeat(shape.times)}"`);
      case 'array':
        return `[${this.#items(shape.times, space, () => this.#value(shape.of, space))}]`;
      case 'object': {
        const key = KEYS[shape.key];
        return `{${this.#items(shape.times, space, (at) => `${this.#count(`"${key?.(at)}":`)}${this.#value(shape.of, space)}`)}}`;
      }
    }
  }

  #items(most: number, space: string, item: (at: number) => string): string {
    const items: string[] = [];
    for (let at = 0; at < most && (at === 0 || !this.#isFull); at += 1) items.push(item(at));
    this.#bytes += items.length;
    return items.join(`,${space}`);
  }

  #count(text: string): string {
    this.#bytes += Buffer.byteLength(text);
    return text;
  }
}
