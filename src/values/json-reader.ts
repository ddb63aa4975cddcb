/**
 * Reads strict JSON in steps: it stops after as many characters as it is given and goes on from there, even in the middle of
 * a string. One reader serves those who want the value at once and those who have other work in between.
 */
import { FlywheelError } from '../errors/flywheel-error.js';
import { type JsonValue, MAX_JSON_DEPTH } from './canonical-json.js';
import { InexactNumber, isPlainlyExact, standsFor } from './exact-number.js';
import { LongString, readEscapes } from './long-string.js';

/** How text is read. */
export interface StrictJsonOptions {
  /** Values that the text may hold, those inside others included; keys do not count. @default no limit */
  readonly maxValues?: number;
  /** Objects among them; one may take twenty times the memory that its text does. @default no limit */
  readonly maxObjects?: number;
  /** Keys that one object may have; what is done with all of them at once, such as sorting them, takes long. @default no limit */
  readonly maxKeys?: number;
  /** Levels of objects and arrays around a value. @default {@link MAX_JSON_DEPTH} */
  readonly maxDepth?: number;
}

/** An object or array that is being read; of an object also the key whose value is read. */
type Open =
  | { readonly items: JsonValue[]; readonly fields?: undefined }
  | { readonly items?: undefined; readonly fields: Record<string, JsonValue>; key: string; keys: number };

/** What the reader expects next. */
type Expected = 'value' | 'first' | 'next' | 'end' | 'nothing';

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
/** A string without escapes and not long; one with any control character takes the slow path, which judges it. */
const PLAIN_STRING = /"[^"\\\p{Cc}]{0,1024}"/uy;
/** The same with escapes, which may be wrong. */
const SHORT_STRING = /"(?:[^"\\\p{Cc}]|\\[^\p{Cc}]){0,1024}"/uy;
const WHITE_SPACE = /[ \t\n\r]*/y;

const WORDS: readonly (readonly [string, JsonValue])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

const CODE = {
  space: 0x20,
  quote: 0x22,
  comma: 0x2c,
  minus: 0x2d,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  openBracket: 0x5b,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d,
} as const;

const BAD_STRING = 'The string has a bad escape or a control character';
/** Arrays below this length are copied to save memory. */
const SHORT_ARRAY = 12;
/** Characters of a key that an error quotes. */
const MAX_QUOTED = 40;

/** The refusal of a text that holds too many of something. */
export const tooMany = (most: number, what: string): FlywheelError =>
  new FlywheelError(
    'ERR_PAYLOAD_TOO_LARGE',
    `The JSON holds more than ${most.toLocaleString('en')} ${what}.`,
  );

/** Reads one JSON value that fills the whole text, in as many steps as the caller likes. */
export class StrictJsonReader {
  readonly #text: string;
  readonly #maxValues: number;
  readonly #maxObjects: number;
  readonly #maxKeys: number;
  readonly #maxDepth: number;
  readonly #open: Open[] = [];
  #at = 0;
  #values = 0;
  #objects = 0;
  #expected: Expected = 'value';
  #root: JsonValue = null;
  /** A string that is not read to its end, and whether it is a key. */
  #long: { readonly string: LongString; readonly isKey: boolean } | undefined;

  constructor(text: string, { maxValues, maxObjects, maxKeys, maxDepth }: StrictJsonOptions = {}) {
    this.#text = text;
    this.#maxValues = maxValues ?? Number.POSITIVE_INFINITY;
    this.#maxObjects = maxObjects ?? Number.POSITIVE_INFINITY;
    this.#maxKeys = maxKeys ?? Number.POSITIVE_INFINITY;
    this.#maxDepth = maxDepth ?? MAX_JSON_DEPTH;
  }

  /**
   * Reads on for about as many characters.
   * @returns whether all is read.
   * @throws `ERR_INVALID_REQUEST` naming line and column; `ERR_PAYLOAD_TOO_LARGE` for more values, objects, or keys
   * of an object, than allowed.
   */
  read(characters: number): boolean {
    const stopAt = this.#at + characters;
    while (this.#expected !== 'nothing' && this.#at < stopAt) {
      if (this.#long !== undefined) this.#readOn(this.#long, stopAt);
      else this.#readNext();
    }
    return this.#expected === 'nothing';
  }

  /**
   * What was read, once {@link read} has said that it is all. An {@link InexactNumber} stands in it for every number that a
   * double cannot carry.
   */
  result(): JsonValue {
    return this.#root;
  }

  #readNext(): void {
    this.#space();
    if (this.#expected === 'value') this.#value();
    else if (this.#expected !== 'end') this.#item();
    else if (this.#at < this.#text.length) this.#fail('Unexpected text after the JSON value');
    else this.#expected = 'nothing';
  }

  #value(): void {
    if (this.#open.length > this.#maxDepth) this.#fail(`JSON is nested deeper than ${this.#maxDepth} levels`);
    this.#count();
    const code = this.#text.charCodeAt(this.#at);
    if (code === CODE.quote) this.#string(false);
    else if (code === CODE.openBrace) this.#enterObject();
    else if (code === CODE.openBracket) this.#enter({ items: [] });
    else if (code === CODE.minus || (code >= CODE.zero && code <= CODE.nine)) this.#take(this.#number());
    else this.#take(this.#word());
  }

  #count(): void {
    this.#values += 1;
    if (this.#values > this.#maxValues) throw tooMany(this.#maxValues, 'values');
  }

  #enterObject(): void {
    this.#objects += 1;
    if (this.#objects > this.#maxObjects) throw tooMany(this.#maxObjects, 'objects');
    this.#enter({ fields: {}, key: '', keys: 0 });
  }

  #enter(open: Open): void {
    this.#open.push(open);
    this.#at += 1;
    this.#expected = 'first';
  }

  /** The end of the innermost object or array, or its next item. */
  #item(): void {
    const isObject = this.#open[this.#open.length - 1]?.fields !== undefined;
    if (this.#text.charCodeAt(this.#at) === (isObject ? CODE.closeBrace : CODE.closeBracket)) {
      this.#leave();
      return;
    }
    if (this.#expected === 'next') this.#comma(isObject);
    if (!isObject) this.#expected = 'value';
    else if (this.#text.charCodeAt(this.#at) === CODE.quote) this.#string(true);
    else this.#fail('Expected a key in double quotes');
  }

  #comma(isObject: boolean): void {
    if (this.#text.charCodeAt(this.#at) !== CODE.comma)
      this.#fail(`Expected "," or "${isObject ? '}' : ']'}"`);
    this.#at += 1;
    this.#space();
  }

  #leave(): void {
    const { items, fields } = this.#open.pop() as Open;
    this.#at += 1;
    if (items === undefined) this.#take(fields as JsonValue);
    // An array that has grown has room for 17 items at least; a copy has only what it needs.
    else this.#take(items.length > 0 && items.length < SHORT_ARRAY ? items.slice() : items);
  }

  /** Puts a value that is complete where it belongs. */
  #take(value: JsonValue): void {
    const open = this.#open[this.#open.length - 1];
    if (open === undefined) {
      this.#root = value;
      this.#expected = 'end';
      return;
    }
    this.#expected = 'next';
    if (open.items !== undefined) {
      open.items.push(value);
      return;
    }
    const { key } = open;
    // A null prototype would differ from JSON.parse; defineProperty keeps `__proto__` an ordinary key.
    if (key === '__proto__') {
      const field = { value, enumerable: true, writable: true, configurable: true };
      Object.defineProperty(open.fields, key, field);
    } else {
      open.fields[key] = value;
    }
  }

  #string(isKey: boolean): void {
    const start = this.#at;
    PLAIN_STRING.lastIndex = start;
    if (PLAIN_STRING.test(this.#text)) {
      this.#at = PLAIN_STRING.lastIndex;
      this.#takeString(this.#text.slice(start + 1, this.#at - 1), start, isKey);
      return;
    }
    SHORT_STRING.lastIndex = start;
    if (SHORT_STRING.test(this.#text)) this.#escapedString(start, SHORT_STRING.lastIndex, isKey);
    else this.#long = { string: new LongString(this.#text, start), isKey };
  }

  #escapedString(start: number, end: number, isKey: boolean): void {
    const text = readEscapes(this.#text.slice(start, end)) ?? this.#fail(BAD_STRING);
    this.#at = end;
    this.#takeString(text, start, isKey);
  }

  #readOn(long: { readonly string: LongString; readonly isKey: boolean }, stopAt: number): void {
    const { string, isKey } = long;
    const state = string.read(stopAt);
    this.#at = string.at;
    if (state === 'more') return;
    if (state !== 'done') {
      this.#at = string.start;
      this.#fail(state === 'cut' ? 'The text ends inside a string' : BAD_STRING);
    }
    this.#long = undefined;
    this.#takeString(string.value, string.start, isKey);
  }

  #takeString(text: string, start: number, isKey: boolean): void {
    if (isKey) this.#key(text, start);
    else this.#take(text);
  }

  #key(key: string, start: number): void {
    const open = this.#open[this.#open.length - 1] as Extract<Open, { fields: object }>;
    if (Object.hasOwn(open.fields, key)) {
      this.#at = start;
      this.#fail(`Duplicate key ${quoted(key)}`);
    }
    this.#space();
    if (this.#text.charCodeAt(this.#at) !== CODE.colon) this.#fail('Expected ":" after the key');
    this.#at += 1;
    open.key = key;
    open.keys += 1;
    if (open.keys > this.#maxKeys) {
      throw new FlywheelError(
        'ERR_PAYLOAD_TOO_LARGE',
        `An object in the JSON has more than ${this.#maxKeys.toLocaleString('en')} keys.`,
      );
    }
    this.#expected = 'value';
  }

  #number(): number | InexactNumber {
    const start = this.#at;
    NUMBER.lastIndex = start;
    if (!NUMBER.test(this.#text)) return this.#fail('Expected a number');
    this.#at = NUMBER.lastIndex;
    const text = this.#text.slice(start, this.#at);
    const value = Number(text);
    return isPlainlyExact(text) || standsFor(text, value) ? value : new InexactNumber(text);
  }

  #word(): JsonValue {
    for (const [word, value] of WORDS) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    }
    if (this.#at < this.#text.length) return this.#fail(`Unexpected ${JSON.stringify(this.#text[this.#at])}`);
    const nothingYet = this.#open.length === 0;
    return this.#fail(nothingYet ? 'Expected JSON, got nothing' : 'The text ends before the JSON value does');
  }

  #space(): void {
    // Nearly always there is none.
    if (this.#text.charCodeAt(this.#at) > CODE.space) return;
    WHITE_SPACE.lastIndex = this.#at;
    WHITE_SPACE.test(this.#text);
    this.#at = WHITE_SPACE.lastIndex;
  }

  #fail(message: string): never {
    let line = 1;
    let lineStart = 0;
    for (let end = this.#text.indexOf('\n'); end !== -1 && end < this.#at; ) {
      line += 1;
      lineStart = end + 1;
      end = this.#text.indexOf('\n', lineStart);
    }
    const column = this.#at - lineStart + 1;
    throw new FlywheelError('ERR_INVALID_REQUEST', `${message} (line ${line}, column ${column}).`, {
      at: { line, column },
    });
  }
}

const quoted = (text: string): string =>
  text.length <= MAX_QUOTED ? JSON.stringify(text) : `${JSON.stringify(text.slice(0, MAX_QUOTED))}…`;
