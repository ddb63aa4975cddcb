/** A value → the JSON of an answer. One that is heavy is written a little in each turn of the event loop. */
import { stringPieces } from '../values/canonical-json.js';
import { jsonText } from '../values/exact-number.js';
import { isHeavy } from '../values/json-weight.js';
import type { Slices } from './slices.js';

/** Characters that are written in one go. */
const LIGHT_CHARACTERS = 16 * 1_024;
/** Characters that are turned into bytes in one go. */
const PIECE_CHARACTERS = 64 * 1_024;

/** The text of a value piece by piece; together they are what {@link jsonText} writes. */
function* textOf(value: unknown): Generator<string, void> {
  if (!isHeavy(value, LIGHT_CHARACTERS)) yield textOfItem(value);
  else if (typeof value === 'string') yield* stringPieces(value);
  else if (Array.isArray(value)) yield* textOfList(value);
  else if (typeof value === 'object' && value !== null && !('toJSON' in value)) yield* textOfObject(value);
  else yield textOfItem(value);
}

/** As JSON.stringify writes it in a list. */
const textOfItem = (value: unknown): string => (value === undefined ? 'null' : jsonText(value));

function* textOfList(items: readonly unknown[]): Generator<string, void> {
  let mark = '[';
  for (const item of items) {
    yield mark;
    yield* textOf(item);
    mark = ',';
  }
  yield ']';
}

function* textOfObject(object: object): Generator<string, void> {
  let mark = '{';
  for (const [name, field] of Object.entries(object)) {
    if (field === undefined) continue;
    yield `${mark}${JSON.stringify(name)}:`;
    yield* textOf(field);
    mark = ',';
  }
  yield mark === '{' ? '{}' : '}';
}

function* bytesOf(value: unknown): Generator<undefined, Buffer> {
  const bytes: Buffer[] = [];
  let text = '';
  for (const piece of textOf(value)) {
    text += piece;
    if (text.length < PIECE_CHARACTERS) continue;
    bytes.push(Buffer.from(text));
    text = '';
    yield;
  }
  bytes.push(Buffer.from(text));
  return Buffer.concat(bytes);
}

/** The body of an answer. */
export const answerText = async (value: unknown, slices: Slices): Promise<string | Buffer> =>
  isHeavy(value, PIECE_CHARACTERS) ? slices.run(bytesOf(value)) : jsonText(value);
