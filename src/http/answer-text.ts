/** A value → the JSON of an answer. A long list is written a little in each turn of the event loop. */
import { jsonText } from '../values/inexact-number.js';
import type { Slices } from './slices.js';

/** A list with more items is long. */
const MANY_ITEMS = 100;
/** Objects around a long list: an init's answer has it in its batch. */
const MAX_LEVELS = 2;
/** Characters that are turned into bytes in one go. */
const PIECE_CHARACTERS = 64 * 1_024;

const isLong = (value: unknown): value is readonly unknown[] =>
  Array.isArray(value) && value.length > MANY_ITEMS;

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const holdsLong = (value: unknown, levels: number): boolean =>
  isLong(value) ||
  (levels > 0 && isObject(value) && Object.values(value).some((field) => holdsLong(field, levels - 1)));

/** The text of a value piece by piece; together they are what {@link jsonText} writes. */
function* textOf(value: unknown, levels: number): Generator<string, void> {
  if (isLong(value)) yield* textOfList(value);
  else if (levels > 0 && isObject(value)) yield* textOfObject(value, levels);
  else yield textOfItem(value);
}

/** As JSON.stringify writes it in a list. */
const textOfItem = (value: unknown): string => (value === undefined ? 'null' : jsonText(value));

function* textOfList(items: readonly unknown[]): Generator<string, void> {
  let mark = '[';
  for (const item of items) {
    yield `${mark}${textOfItem(item)}`;
    mark = ',';
  }
  yield ']';
}

function* textOfObject(object: object, levels: number): Generator<string, void> {
  let mark = '{';
  for (const [name, field] of Object.entries(object)) {
    if (field === undefined) continue;
    yield `${mark}${JSON.stringify(name)}:`;
    yield* textOf(field, levels - 1);
    mark = ',';
  }
  yield mark === '{' ? '{}' : '}';
}

function* bytesOf(value: unknown): Generator<undefined, Buffer> {
  const bytes: Buffer[] = [];
  let text = '';
  for (const piece of textOf(value, MAX_LEVELS)) {
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
  holdsLong(value, MAX_LEVELS) ? slices.run(bytesOf(value)) : jsonText(value);
