/**
 * JSON values, and their one canonical text (RFC 8785) from which proofs and requests are hashed.
 *
 * The package `canonicalize` is what the tests hold this to, and cannot stand in its place: of `{"n":9007199254740993}` it
 * would write the nearest double, which is the text of another proof, or, of the number kept as it was written, a marker that
 * is another one in each process; half a surrogate pair, `"\ud800"`, it writes where RFC 8785 has an error; and it
 * writes what is nested to any depth.
 */
import { FlywheelError } from '../errors/flywheel-error.js';
import { InexactNumber } from './exact-number.js';
import { wholeText } from './text.js';

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
    `The number ${text.slice(0, 40)} would be rounded by JSON readers; write it as text.`,
  );

/**
 * The canonical text of a JSON value (RFC 8785): keys sorted by UTF-16 code units, no white space, numbers as ECMAScript
 * writes them.
 *
 * @throws `ERR_INVALID_REQUEST` for a lone surrogate, a number that is not finite or that a double does not carry, a value that
 * JSON does not have, or nesting beyond {@link MAX_JSON_DEPTH}.
 */
export const canonicalJson = (value: JsonValue): string => write(value, 0, CANONICAL);

const CANONICAL: Rules = {
  quote: (text) => JSON.stringify(wholeText(text)),
  number: numberText,
  maxDepth: MAX_JSON_DEPTH,
};

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
