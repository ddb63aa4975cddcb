/**
 * JSON values, and their one canonical text (RFC 8785) from which proofs and requests are hashed.
 *
 * The package `canonicalize` is what the tests hold this to, and cannot stand in its place: of `{"n":9007199254740993}` it
 * would write the nearest double, which is the text of another proof, or, of the number kept as it was written, a marker that
 * is another one in each process; half a surrogate pair, `"\ud800"`, it writes where RFC 8785 has an error; and it writes a body
 * of any size and depth in one go, while others wait.
 */
import { FlywheelError } from '../errors/flywheel-error.js';
import { InexactNumber } from './exact-number.js';

/** What JSON text holds; a number that a double cannot carry is an {@link InexactNumber}. */
export type JsonValue = null | boolean | number | string | InexactNumber | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** Is it a JSON object, and not a list, null or a number that had to be kept as text? */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof InexactNumber);

/** Deepest nesting that is read or written anywhere; deeper input is refused, not followed. */
export const MAX_JSON_DEPTH = 64;

const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

function quote(text: string): string {
  if (LONE_SURROGATE.test(text)) {
    throw new FlywheelError(
      'ERR_INVALID_REQUEST',
      'Text holds half of a surrogate pair, which no UTF-8 text can carry.',
    );
  }
  return JSON.stringify(text);
}

interface Rules {
  readonly quote: (text: string) => string;
  readonly number: (value: number | InexactNumber) => string;
  readonly maxDepth: number;
}

/** A number as ECMAScript writes it. */
function numberText(value: number | InexactNumber): string {
  if (value instanceof InexactNumber) throw inexact(value.text);
  if (Number.isFinite(value)) return JSON.stringify(value);
  throw new FlywheelError('ERR_INVALID_REQUEST', `JSON has no number ${String(value)}.`);
}

const inexact = (text: string): FlywheelError =>
  new FlywheelError(
    'ERR_INVALID_REQUEST',
    `The number ${text.slice(0, 40)} is not kept exactly by JSON readers; write it as text.`,
  );

/**
 * The canonical text of a JSON value (RFC 8785): keys sorted by UTF-16 code units, no white space, numbers as ECMAScript
 * writes them.
 *
 * @throws `ERR_INVALID_REQUEST` for a lone surrogate, a number that is not finite or that a double does not carry, a value that
 * JSON does not have, or nesting beyond {@link MAX_JSON_DEPTH}.
 */
export const canonicalJson = (value: JsonValue): string => write(value, 0, CANONICAL);

const CANONICAL: Rules = { quote, number: numberText, maxDepth: MAX_JSON_DEPTH };

/** Levels of a request around the proofs in it, which are judged by themselves. */
const WRAPPING_LEVELS = 8;

/**
 * A text that is the same for equal values only, made as {@link canonicalJson} makes its own, but also of half surrogate
 * pairs (escaped), of numbers that JSON does not have, and of what wraps a value of the greatest depth: a request is told apart before its parts are judged.
 */
export const distinctText = (value: JsonValue): string => write(value, 0, DISTINCT);

const DISTINCT: Rules = {
  quote: JSON.stringify,
  number: (number) => (number instanceof InexactNumber ? number.text : String(number)),
  maxDepth: MAX_JSON_DEPTH + WRAPPING_LEVELS,
};

/** Characters that are written at a time. */
const PIECE_CHARACTERS = 8_192;

/** {@link distinctText} in pieces none of which takes long, so that there is time for others in between. */
export const distinctPieces = (value: JsonValue): Generator<string, void> => piecesOf(value, DISTINCT);

/** {@link canonicalJson} in such pieces. @throws as that, with the piece that is wrong. */
export const canonicalPieces = (value: JsonValue): Generator<string, void> => piecesOf(value, CANONICAL);

/** An object or array that is being written. */
interface Open {
  readonly value: readonly JsonValue[] | JsonObject;
  /** Of an object, in the order in which they are written. */
  readonly keys: readonly string[] | undefined;
  readonly size: number;
  /** Items that are written. */
  at: number;
}

function open(value: readonly JsonValue[] | JsonObject): Open {
  if (Array.isArray(value)) return { value, keys: undefined, size: value.length, at: 0 };
  const keys = writtenKeys(value as JsonObject);
  return { value, keys, size: keys.length, at: 0 };
}

/** What {@link write} writes, a little at a time and without calling itself, however the value is nested. */
function* piecesOf(root: JsonValue, rules: Rules): Generator<string, void> {
  const opened: Open[] = [];
  let value = root;
  let text = '';
  for (;;) {
    if (typeof value === 'string' && value.length > PIECE_CHARACTERS) {
      yield text;
      yield* stringPieces(value, rules.quote);
      text = '';
    } else if (isNested(value)) {
      refuseDepth(opened.length, rules);
      opened.push(open(value));
      text += Array.isArray(value) ? '[' : '{';
    } else {
      text += write(value, opened.length, rules);
    }
    text += closeFull(opened);
    const last = opened.at(-1);
    if (last === undefined) break;
    if (text.length > PIECE_CHARACTERS) {
      yield text;
      text = '';
    }
    text += last.at === 0 ? '' : ',';
    if (last.keys !== undefined) text += `${rules.quote(last.keys[last.at] as string)}:`;
    value = nextOf(last);
  }
  yield text;
}

const isNested = (value: JsonValue): value is readonly JsonValue[] | JsonObject =>
  typeof value === 'object' && value !== null && !(value instanceof InexactNumber);

/** Ends what has nothing left to write. */
function closeFull(opened: Open[]): string {
  let text = '';
  for (let last = opened.at(-1); last !== undefined && last.at === last.size; last = opened.at(-1)) {
    text += last.keys === undefined ? ']' : '}';
    opened.pop();
  }
  return text;
}

function nextOf(opened: Open): JsonValue {
  const { value, keys, at } = opened;
  opened.at += 1;
  if (keys === undefined) return (value as readonly JsonValue[])[at] as JsonValue;
  return (value as JsonObject)[keys[at] as string] as JsonValue;
}

/** A string as JSON in pieces; none ends within a surrogate pair. @param quoted - writes a whole string. */
function* stringPieces(text: string, quoted: Rules['quote'] = JSON.stringify): Generator<string, void> {
  yield '"';
  for (let from = 0; from < text.length; ) {
    const end = from + PIECE_CHARACTERS;
    const to = isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end;
    yield quoted(text.slice(from, to)).slice(1, -1);
    from = to;
  }
  yield '"';
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;

/** As JSON.stringify does, so that a value in this process is the same as its JSON text. */
const writtenKeys = (object: JsonObject): readonly string[] =>
  Object.keys(object)
    .filter((key) => object[key] !== undefined)
    .sort();

function refuseDepth(depth: number, { maxDepth }: Rules): void {
  if (depth <= maxDepth) return;
  throw new FlywheelError('ERR_INVALID_REQUEST', `JSON is nested deeper than ${maxDepth} levels.`);
}

function write(value: JsonValue, depth: number, rules: Rules): string {
  refuseDepth(depth, rules);
  if (typeof value === 'number' || value instanceof InexactNumber) return rules.number(value);
  if (typeof value === 'object' && value !== null) return writeNested(value, depth, rules);
  if (typeof value === 'string') return rules.quote(value);
  if (value === null || typeof value === 'boolean') return JSON.stringify(value);
  throw new FlywheelError('ERR_INVALID_REQUEST', `JSON has no value of type ${typeof value}.`);
}

function writeNested(value: readonly JsonValue[] | JsonObject, depth: number, rules: Rules): string {
  if (Array.isArray(value)) {
    return `[${value.map((item: JsonValue) => write(item, depth + 1, rules)).join(',')}]`;
  }
  const object = value as JsonObject;
  const fields = writtenKeys(object).map(
    (key) => `${rules.quote(key)}:${write(object[key] as JsonValue, depth + 1, rules)}`,
  );
  return `{${fields.join(',')}}`;
}
