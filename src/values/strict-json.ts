/**
 * JSON text → value, refusing what JSON.parse lets pass: duplicate keys, deep nesting, invalid UTF-8, and numbers that
 * change when they are read.
 */
import { FlywheelError } from '../errors/flywheel-error.js';
import { type JsonObject, type JsonValue, MAX_JSON_DEPTH } from './canonical-json.js';
import { sameDecimal } from './token-amount.js';

/** A number whose text does not read back as the same decimal, such as 18446744073709551615. */
export interface InexactNumber {
  readonly path: readonly (string | number)[];
  readonly text: string;
}

export interface StrictJson {
  readonly value: JsonValue;
  /** The caller refuses those that stand for money. */
  readonly inexactNumbers: readonly InexactNumber[];
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
/** A string without escapes; one with any control character takes the slow path, which judges it. */
const PLAIN_STRING = /"[^"\\\p{Cc}]*"/uy;
const WHITE_SPACE = /[ \t\n\r]*/y;

const fail = (message: string): never => {
  throw new FlywheelError('ERR_INVALID_REQUEST', message);
};

/** Bytes as text: UTF-8, with or without a byte order mark. @throws `ERR_INVALID_REQUEST` when it is not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return fail('The text is not valid UTF-8.');
  }
}

/**
 * Parses one JSON value that fills the whole text.
 * @throws `ERR_INVALID_REQUEST` naming line and column.
 */
export function parseStrictJson(text: string): StrictJson {
  return new Parser(text).parse();
}

class Parser {
  readonly #text: string;
  readonly #inexact: InexactNumber[] = [];
  readonly #path: (string | number)[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): StrictJson {
    this.#space();
    if (this.#at === this.#text.length) return this.#fail('Expected JSON, got nothing');
    const value = this.#value(0);
    this.#space();
    if (this.#at < this.#text.length) this.#fail('Unexpected text after the JSON value');
    return { value, inexactNumbers: this.#inexact };
  }

  #value(depth: number): JsonValue {
    if (depth > MAX_JSON_DEPTH) return this.#fail(`JSON is nested deeper than ${MAX_JSON_DEPTH} levels`);
    const char = this.#text[this.#at];
    if (char === '{') return this.#object(depth);
    if (char === '[') return this.#array(depth);
    if (char === '"') return this.#string();
    if (char !== undefined && (char === '-' || (char >= '0' && char <= '9'))) return this.#number();
    return this.#word();
  }

  #object(depth: number): JsonObject {
    // A null prototype would differ from JSON.parse; defineProperty keeps `__proto__` an ordinary key.
    const object: Record<string, JsonValue> = {};
    this.#at += 1;
    for (let first = true; !this.#closes('}', first); first = false) {
      if (this.#text[this.#at] !== '"') this.#fail('Expected a key in double quotes');
      const start = this.#at;
      const key = this.#string();
      if (Object.hasOwn(object, key)) {
        this.#at = start;
        this.#fail(`Duplicate key ${JSON.stringify(key)}`);
      }
      this.#space();
      if (this.#text[this.#at] !== ':') this.#fail('Expected ":" after the key');
      this.#at += 1;
      this.#space();
      this.#path.push(key);
      const value = this.#value(depth + 1);
      this.#path.pop();
      if (key === '__proto__')
        Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
      else object[key] = value;
    }
    return object;
  }

  #array(depth: number): JsonValue[] {
    const items: JsonValue[] = [];
    this.#at += 1;
    while (!this.#closes(']', items.length === 0)) {
      this.#path.push(items.length);
      items.push(this.#value(depth + 1));
      this.#path.pop();
    }
    return items;
  }

  /** Moves past the closing mark, or past the comma before the next item. */
  #closes(mark: '}' | ']', first: boolean): boolean {
    this.#space();
    if (this.#text[this.#at] === mark) {
      this.#at += 1;
      return true;
    }
    if (first) return false;
    if (this.#text[this.#at] !== ',') this.#fail(`Expected "," or "${mark}"`);
    this.#at += 1;
    this.#space();
    return false;
  }

  #string(): string {
    PLAIN_STRING.lastIndex = this.#at;
    const plain = PLAIN_STRING.exec(this.#text);
    if (plain !== null) {
      this.#at = PLAIN_STRING.lastIndex;
      return plain[0].slice(1, -1);
    }
    return this.#escapedString();
  }

  #escapedString(): string {
    let end = this.#at + 1;
    while (end < this.#text.length && this.#text[end] !== '"') end += this.#text[end] === '\\' ? 2 : 1;
    if (end >= this.#text.length) this.#fail('The text ends inside a string');
    const literal = this.#text.slice(this.#at, end + 1);
    try {
      const value = JSON.parse(literal) as string;
      this.#at = end + 1;
      return value;
    } catch {
      return this.#fail('The string has a bad escape or a control character');
    }
  }

  #number(): number {
    NUMBER.lastIndex = this.#at;
    const found = NUMBER.exec(this.#text);
    if (found === null) return this.#fail('Expected a number');
    const text = found[0];
    const value = Number(text);
    if (!Number.isFinite(value)) this.#fail(`The number ${text.slice(0, 40)} is too large`);
    if (!isPlainlyExact(text) && !readsBack(text, value)) this.#inexact.push({ path: [...this.#path], text });
    this.#at = NUMBER.lastIndex;
    return value;
  }

  #word(): JsonValue {
    for (const [word, value] of [
      ['true', true],
      ['false', false],
      ['null', null],
    ] as const) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    }
    if (this.#at >= this.#text.length) return this.#fail('The text ends before the JSON value does');
    return this.#fail(`Unexpected ${JSON.stringify(this.#text[this.#at])}`);
  }

  #space(): void {
    WHITE_SPACE.lastIndex = this.#at;
    WHITE_SPACE.exec(this.#text);
    this.#at = WHITE_SPACE.lastIndex;
  }

  #fail(message: string): never {
    const before = this.#text.slice(0, this.#at);
    const line = before.split('\n').length;
    const column = this.#at - before.lastIndexOf('\n');
    return fail(`${message} (line ${line}, column ${column}).`);
  }
}

/** Up to 15 digits without an exponent always read back; that is nearly every number. */
const isPlainlyExact = (text: string): boolean => text.length <= 15 && !/e/i.test(text);

/** Does the number stand for exactly the decimal that was written? Signs agree by construction. */
function readsBack(text: string, value: number): boolean {
  const written = text.replace(/^-/, '');
  if (written.length > 400) return false;
  try {
    return sameDecimal(written, String(Math.abs(value)));
  } catch {
    return false;
  }
}
