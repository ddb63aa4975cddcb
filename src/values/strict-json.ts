/**
 * JSON parser that refuses what JSON.parse accepts: duplicate keys, deep nesting, invalid UTF-8. Numbers that a double would
 * change keep their text. The package `lossless-json` is similar but accepts a duplicate key with an equal value.
 */
import { FlywheelError } from '../errors/flywheel-error.js';
import { type JsonValue, MAX_JSON_DEPTH } from './canonical-json.js';
import { InexactNumber, standsFor } from './exact-number.js';

interface StrictJsonOptions {
  /** Limit of values at all levels; keys do not count. @default no limit */
  readonly maxValues?: number;
  /** Limit of keys per object: sorting or similar work on many keys takes long. @default no limit */
  readonly maxKeys?: number;
  /** @default {@link MAX_JSON_DEPTH} */
  readonly maxDepth?: number;
}

/** Decodes UTF-8, with or without a byte order mark. @throws `ERR_INVALID_REQUEST` for invalid UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new FlywheelError('ERR_INVALID_REQUEST', 'The text is not valid UTF-8.');
  }
}

export const tooMany = (most: number, what: string): FlywheelError =>
  new FlywheelError('ERR_PAYLOAD_TOO_LARGE', `The JSON has more than ${most.toLocaleString('en')} ${what}.`);

/**
 * Parses one JSON value that fills the whole text.
 * @returns a value with an `InexactNumber` for every number that a double cannot represent, such as 18446744073709551615.
 * @throws `ERR_INVALID_REQUEST` naming line and column; `ERR_PAYLOAD_TOO_LARGE` for too many values, or too many keys in an
 * object.
 */
export function parseStrictJson(
  text: string,
  options: StrictJsonOptions = {},
): { readonly value: JsonValue } {
  return { value: new Reader(text, options).all() };
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WHITE_SPACE = /[ \t\n\r]*/y;
const WORD = /true|false|null/y;
const MAX_QUOTED = 40;

class Reader {
  readonly #text: string;
  readonly #maxValues: number;
  readonly #maxKeys: number;
  readonly #maxDepth: number;
  #at = 0;
  #values = 0;

  constructor(text: string, options: StrictJsonOptions) {
    this.#text = text;
    this.#maxValues = options.maxValues ?? Number.POSITIVE_INFINITY;
    this.#maxKeys = options.maxKeys ?? Number.POSITIVE_INFINITY;
    this.#maxDepth = options.maxDepth ?? MAX_JSON_DEPTH;
  }

  all(): JsonValue {
    const value = this.#value(0);
    if (this.#next() !== '') this.#fail('Unexpected text after the JSON value');
    return value;
  }

  #value(depth: number): JsonValue {
    const first = this.#next();
    if (depth > this.#maxDepth) this.#fail(`JSON is nested deeper than ${this.#maxDepth} levels`);
    this.#values += 1;
    if (this.#values > this.#maxValues) throw tooMany(this.#maxValues, 'values');
    if (first === '"') return this.#string();
    if (first === '{') return this.#object(depth);
    if (first === '[') return this.#array(depth);
    if (first === '-' || (first >= '0' && first <= '9')) return this.#number();
    return this.#word(first, depth);
  }

  #object(depth: number): JsonValue {
    const fields: Record<string, JsonValue> = {};
    for (let keys = 1; this.#isMore('}', keys === 1); keys += 1) {
      if (this.#next() !== '"') this.#fail('Expected a key in double quotes');
      const start = this.#at;
      const key = this.#string();
      if (Object.hasOwn(fields, key)) this.#fail(`Duplicate key ${quoted(key)}`, start);
      if (this.#next() !== ':') this.#fail('Expected ":" after the key');
      this.#at += 1;
      if (keys > this.#maxKeys) throw tooManyKeys(this.#maxKeys);
      const value = this.#value(depth + 1);
      // An ordinary key, as with JSON.parse.
      if (key === '__proto__')
        Object.defineProperty(fields, key, { value, enumerable: true, writable: true, configurable: true });
      else fields[key] = value;
    }
    return fields;
  }

  #array(depth: number): JsonValue {
    const items: JsonValue[] = [];
    while (this.#isMore(']', items.length === 0)) items.push(this.#value(depth + 1));
    return items;
  }

  /** Consumes the opening bracket or comma, or the closing bracket. @returns whether another item follows */
  #isMore(end: '}' | ']', isFirst: boolean): boolean {
    if (isFirst) this.#at += 1;
    const isEnd = this.#next() === end;
    if (isEnd) this.#at += 1;
    else if (!isFirst) {
      if (this.#next() !== ',') this.#fail(`Expected "," or "${end}"`);
      this.#at += 1;
    }
    return !isEnd;
  }

  #string(): string {
    const start = this.#at;
    let end = this.#text.indexOf('"', start + 1);
    while (end >= 0 && this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1);
    if (end < 0) return this.#fail('The text ends inside a string');
    try {
      const value = JSON.parse(this.#text.slice(start, end + 1)) as string;
      this.#at = end + 1;
      return value;
    } catch {
      return this.#fail('The string has a bad escape or a control character');
    }
  }

  #isEscaped(quote: number): boolean {
    let from = quote;
    while (this.#text[from - 1] === '\\') from -= 1;
    return (quote - from) % 2 === 1;
  }

  #number(): number | InexactNumber {
    const text = this.#match(NUMBER) ?? this.#fail('Expected a number');
    const value = Number(text);
    return standsFor(text, value) ? value : new InexactNumber(text);
  }

  #word(first: string, depth: number): JsonValue {
    const word = this.#match(WORD);
    if (word !== undefined) return JSON.parse(word) as boolean | null;
    if (first !== '') return this.#fail(`Unexpected ${JSON.stringify(first)}`);
    return this.#fail(
      depth === 0 ? 'Expected JSON, got nothing' : 'The text ends before the JSON value does',
    );
  }

  /** Skips white space. @returns the next character; empty at the end */
  #next(): string {
    // Fast path: usually there is no white space.
    if (!(this.#text.charCodeAt(this.#at) > 0x20)) this.#match(WHITE_SPACE);
    return this.#text.charAt(this.#at);
  }

  /** Consumes what matches at this place. */
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? [];
    this.#at += found?.length ?? 0;
    return found;
  }

  #fail(message: string, at = this.#at): never {
    const before = this.#text.slice(0, at).split('\n');
    const [line, column] = [before.length, (before.at(-1)?.length ?? 0) + 1];
    throw new FlywheelError('ERR_INVALID_REQUEST', `${message} (line ${line}, column ${column}).`);
  }
}

const quoted = (text: string): string =>
  text.length <= MAX_QUOTED ? JSON.stringify(text) : `${JSON.stringify(text.slice(0, MAX_QUOTED))}…`;

const tooManyKeys = (most: number): FlywheelError =>
  new FlywheelError(
    'ERR_PAYLOAD_TOO_LARGE',
    `An object in the JSON has more than ${most.toLocaleString('en')} keys.`,
  );

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Sizes of a JSON text, without validation: up to the end, or until the text is deeper than `maxDepth`. An empty array or object
 * counts as one with a member.
 */
export function measureJson(text: string, maxDepth = Number.POSITIVE_INFINITY) {
  let [values, objects, level, depth] = [1, 0, 0, 0];
  for (let at = 0; at < text.length && depth <= maxDepth; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA) values += 1;
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      values += 1;
      objects += Number(code === OPEN_OBJECT);
      level += 1;
      depth = Math.max(depth, level);
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) level = Math.max(0, level - 1);
  }
  return { values, objects, depth };
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}
