/** How large an answer may be, and what of JSON is parsed at all; both follow from what was asked. */
import type { OperationId } from '../contract/operations.js';
import { MAX_JSON_DEPTH } from '../values/canonical-json.js';

export interface AnswerBounds {
  readonly maxBytes: number;
  /** Values in the JSON, of any kind and at any depth. */
  readonly maxValues: number;
}

const KIB = 1_024;
const MIB = 1_024 * KIB;

/** No answer is larger, whatever was asked. */
const MAX_BYTES = 64 * MIB;
/** Levels of an answer around the proofs in it. */
const WRAPPING_LEVELS = 8;
const MAX_DEPTH = MAX_JSON_DEPTH + WRAPPING_LEVELS;

/** Of an answer to a request without a body, or with a small one. A batch of ten thousand transactions takes a tenth. */
const LEAST: AnswerBounds = { maxBytes: 8 * MIB, maxValues: 100_000 };
const LEAST_OF_BURN: AnswerBounds = { maxBytes: 256 * KIB, maxValues: 10_000 };
/** An answer tells what became of each part of the request, and may repeat the part itself. */
const BYTES_PER_BYTE = 16;
const VALUES_PER_VALUE = 8;

/** The bounds of the answers to a request. */
export function answerBounds(operation: OperationId, body: string | undefined): AnswerBounds {
  const least = operation === 'burn' ? LEAST_OF_BURN : LEAST;
  if (body === undefined) return least;
  return {
    maxBytes: Math.min(MAX_BYTES, least.maxBytes + BYTES_PER_BYTE * Buffer.byteLength(body)),
    maxValues: least.maxValues + VALUES_PER_VALUE * measure(body, MAX_DEPTH).values,
  };
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Where the string that opens at `start` ends; at the end of the text when it does not. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return at;
}

/** Counts values and levels without building any; stops beyond `maxDepth`. */
function measure(text: string, maxDepth: number): { readonly values: number; readonly depth: number } {
  let [values, depth, deepest] = [1, 0, 0];
  for (let at = 0; at < text.length && deepest <= maxDepth; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA) values += 1;
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      values += 1;
      depth += 1;
      deepest = Math.max(deepest, depth);
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth -= 1;
  }
  return { values, depth: deepest };
}

/**
 * Why a JSON text is not to be parsed, as in "answered 200 with …", or `undefined`. A few megabytes of brackets take a
 * hundred times their size once they are values.
 */
export function overBounds(text: string, { maxValues }: AnswerBounds): string | undefined {
  const { values, depth } = measure(text, MAX_DEPTH);
  if (depth > MAX_DEPTH) return `JSON that is nested deeper than ${MAX_DEPTH} levels`;
  return values > maxValues ? `JSON of more than ${maxValues} values` : undefined;
}
