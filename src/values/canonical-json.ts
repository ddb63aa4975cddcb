/** JSON values, and their one canonical text (RFC 8785) from which proofs and requests are hashed. */
import { FlywheelError } from '../errors/flywheel-error.js';

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

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
  readonly maxDepth: number;
}

/**
 * The canonical text of a JSON value (RFC 8785): keys sorted by UTF-16 code units, no white space, numbers as ECMAScript
 * writes them.
 *
 * @throws `ERR_INVALID_REQUEST` for a lone surrogate, a number that is not finite, a value that JSON does not have, or
 * nesting beyond {@link MAX_JSON_DEPTH}.
 */
export const canonicalJson = (value: JsonValue): string =>
  write(value, 0, { quote, maxDepth: MAX_JSON_DEPTH });

/** Levels of a request around the proofs in it, which are judged by themselves. */
const WRAPPING_LEVELS = 8;

/**
 * A text that is the same for equal values only, made as {@link canonicalJson} makes its own, but also of half surrogate
 * pairs (escaped) and of what wraps a value of the greatest depth: a request is told apart before its parts are judged.
 */
export const distinctText = (value: JsonValue): string =>
  write(value, 0, { quote: JSON.stringify, maxDepth: MAX_JSON_DEPTH + WRAPPING_LEVELS });

function write(value: JsonValue, depth: number, rules: Rules): string {
  if (depth > rules.maxDepth) {
    throw new FlywheelError('ERR_INVALID_REQUEST', `JSON is nested deeper than ${rules.maxDepth} levels.`);
  }
  if (typeof value === 'object' && value !== null) return writeNested(value, depth, rules);
  if (typeof value === 'string') return rules.quote(value);
  if (value === null || typeof value === 'boolean' || Number.isFinite(value)) return JSON.stringify(value);
  const what = typeof value === 'number' ? `number ${String(value)}` : `value of type ${typeof value}`;
  throw new FlywheelError('ERR_INVALID_REQUEST', `JSON has no ${what}.`);
}

function writeNested(value: readonly JsonValue[] | JsonObject, depth: number, rules: Rules): string {
  if (Array.isArray(value)) {
    return `[${value.map((item: JsonValue) => write(item, depth + 1, rules)).join(',')}]`;
  }
  const object = value as JsonObject;
  const fields = Object.keys(object)
    .sort()
    .map((key) => `${rules.quote(key)}:${write(object[key] as JsonValue, depth + 1, rules)}`);
  return `{${fields.join(',')}}`;
}
