/** How large an answer may be, and what of JSON is parsed at all; both follow from what was asked. */
import { MAX_JSON_DEPTH } from '../values/canonical-json.js';
import { measureJson } from '../values/json-measure.js';

export interface AnswerBounds {
  readonly maxBytes: number;
  /** Values in the JSON, of any kind and at any depth. */
  readonly maxValues: number;
  /** Members of any one list or object in it. */
  readonly maxMembers: number;
}

const KIB = 1_024;
const MIB = 1_024 * KIB;

/** No answer is larger, whatever was asked. */
const MAX_BYTES = 64 * MIB;
/** Levels of an answer around the proofs in it. */
const WRAPPING_LEVELS = 8;
const MAX_DEPTH = MAX_JSON_DEPTH + WRAPPING_LEVELS;

/** Of an answer to a request without a body, or with a small one. A batch of ten thousand transactions takes a third. */
const LEAST: AnswerBounds = { maxBytes: 8 * MIB, maxValues: 100_000, maxMembers: 10_000 };
const LEAST_OF_BURN: AnswerBounds = { maxBytes: 256 * KIB, maxValues: 10_000, maxMembers: 1_000 };
/** An answer tells what became of each part of the request, and may repeat the part itself. */
const BYTES_PER_BYTE = 16;
const VALUES_PER_VALUE = 8;
/** A page holds batches, or proofs, as large as they may be. */
const BYTES_PER_ITEM = 300 * KIB;
const VALUES_PER_ITEM = 5_000;

/** The part of a request from which the size of its answer follows. */
interface Asked {
  readonly operation: string;
  readonly body?: string | undefined;
  /** Items of a page. */
  readonly items?: number | undefined;
}

/** The bounds of the answers to a request. */
export function answerBounds({ operation, body = '', items = 0 }: Asked): AnswerBounds {
  const least = operation === 'burn' ? LEAST_OF_BURN : LEAST;
  const { values } = measureJson(body, MAX_DEPTH);
  return {
    maxBytes: Math.min(
      MAX_BYTES,
      least.maxBytes + BYTES_PER_BYTE * Buffer.byteLength(body) + BYTES_PER_ITEM * items,
    ),
    maxValues: least.maxValues + VALUES_PER_VALUE * values + VALUES_PER_ITEM * items,
    maxMembers: least.maxMembers + values,
  };
}

/**
 * Why a JSON text is not to be parsed, as in "answered 200 with …", or `undefined`.
 */
export function overBounds(text: string, { maxValues, maxMembers }: AnswerBounds): string | undefined {
  const { values, depth, members } = measureJson(text, MAX_DEPTH);
  if (depth > MAX_DEPTH) return `JSON that is nested deeper than ${MAX_DEPTH} levels`;
  if (members > maxMembers) return `JSON with more than ${maxMembers} members in one list`;
  return values > maxValues ? `JSON of more than ${maxValues} values` : undefined;
}
