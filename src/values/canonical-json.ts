/**
 * JSON values and their canonical text (RFC 8785), the input of proof and request hashes.
 *
 * The package `canonicalize` is a test oracle only. It writes `{"n":9007199254740993}` as the nearest double, which is the text
 * of another proof; an {@link InexactNumber} as a marker that differs per process; half a surrogate pair, `"\ud800"`, where RFC
 * 8785 demands an error; and nesting of any depth.
 */
import { FlywheelError } from '../errors/flywheel-error.js';
import { InexactNumber } from './exact-number.js';
import { wholeText } from './text.js';

/** JSON values; a number that a double cannot represent exactly is an {@link InexactNumber}. */
export type JsonValue = null | boolean | number | string | InexactNumber | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof InexactNumber);

/** Deeper JSON is refused, when reading and when writing. */
export const MAX_JSON_DEPTH = 64;

interface Rules {
  readonly quote: (text: string) => string;
  readonly number: (value: number | InexactNumber) => string;
  readonly maxDepth: number;
}

function numberText(value: number | InexactNumber): string {
  if (value instanceof InexactNumber)
    throw new FlywheelError(
      'ERR_INVALID_REQUEST',
      `The number ${value.text.slice(0, 40)} would be rounded by JSON readers; write it as text.`,
    );
  if (Number.isFinite(value)) return JSON.stringify(value);
  throw new FlywheelError('ERR_INVALID_REQUEST', `JSON has no number ${String(value)}.`);
}

/**
 * The canonical text of a JSON value (RFC 8785): keys sorted by UTF-16 code units, no white space, numbers as in ECMAScript.
 *
 * @throws `ERR_INVALID_REQUEST` for a lone surrogate, a number that is not finite or that a double cannot represent exactly, a
 * value outside JSON, or nesting beyond {@link MAX_JSON_DEPTH}.
 */
export const canonicalJson = (value: JsonValue): string => write(value, 0, CANONICAL);

const CANONICAL: Rules = {
  quote: (text) => JSON.stringify(wholeText(text)),
  number: numberText,
  maxDepth: MAX_JSON_DEPTH,
};

/** Levels of a request around its proofs; a proof itself may have the full depth. */
const WRAPPING_LEVELS = 8;

/**
 * A text that is equal only for equal values. Unlike {@link canonicalJson}, it accepts lone surrogates (escaped), numbers
 * outside JSON, and wrappers around a value of maximum depth: requests are compared before their parts are validated.
 */
export const distinctText = (value: JsonValue): string => write(value, 0, DISTINCT);

const DISTINCT: Rules = {
  quote: JSON.stringify,
  number: (number) => (number instanceof InexactNumber ? number.text : String(number)),
  maxDepth: MAX_JSON_DEPTH + WRAPPING_LEVELS,
};

/** Skips `undefined` like JSON.stringify, so that a value and its parsed JSON text are equal. */
const writtenKeys = (object: JsonObject): readonly string[] =>
  Object.keys(object)
    .filter((key) => object[key] !== undefined)
    .sort();

function write(value: JsonValue, depth: number, rules: Rules): string {
  if (depth > rules.maxDepth)
    throw new FlywheelError('ERR_INVALID_REQUEST', `JSON is nested deeper than ${rules.maxDepth} levels.`);
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
