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

/**
 * The canonical text of a JSON value (RFC 8785): keys sorted by UTF-16 code units, no white space, numbers as ECMAScript
 * writes them.
 *
 * @throws `ERR_INVALID_REQUEST` for a lone surrogate, a number that is not finite, or nesting beyond {@link MAX_JSON_DEPTH}.
 */
export function canonicalJson(value: JsonValue, depth = 0): string {
  if (depth > MAX_JSON_DEPTH) {
    throw new FlywheelError('ERR_INVALID_REQUEST', `JSON is nested deeper than ${MAX_JSON_DEPTH} levels.`);
  }
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new FlywheelError('ERR_INVALID_REQUEST', `JSON has no number ${String(value)}.`);
  }
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value))
    return `[${value.map((item: JsonValue) => canonicalJson(item, depth + 1)).join(',')}]`;
  const object = value as JsonObject;
  const fields = Object.keys(object)
    .sort()
    .map((key) => `${quote(key)}:${canonicalJson(object[key] as JsonValue, depth + 1)}`);
  return `{${fields.join(',')}}`;
}
