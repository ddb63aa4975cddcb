/** Body bytes → JSON value: media type, encoding, duplicate keys, depth and count are judged here, shapes and amounts are not. */
import type { IncomingHttpHeaders } from 'node:http';
import { MAX_JSON_OBJECTS, MAX_OBJECT_KEYS } from '../contract/limits.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { JsonValue } from '../values/canonical-json.js';
import { type StrictJsonOptions, StrictJsonReader } from '../values/json-reader.js';
import { Utf8Decoder } from '../values/strict-json.js';
import { SMALL_BODY_BYTES } from './collect-body.js';
import type { Slices } from './slices.js';

/** JSON has no charset parameter (RFC 8259, section 11); UTF-8 is what those mean who send one. */
const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-?8"?[ \t]*)?;?$/i;

/** Characters that are read in one step. */
const STEP_CHARACTERS = 16 * 1_024;

/** @throws `ERR_UNSUPPORTED_MEDIA_TYPE` unless the body is plain JSON in UTF-8. */
export function checkMediaType(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'];
  if (type === undefined || !JSON_MEDIA_TYPE.test(type)) {
    throw new FlywheelError(
      'ERR_UNSUPPORTED_MEDIA_TYPE',
      `Expected content-type application/json, got ${type === undefined ? 'none' : JSON.stringify(type.slice(0, 100))}.`,
    );
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new FlywheelError('ERR_UNSUPPORTED_MEDIA_TYPE', 'The body must not be compressed.');
  }
}

/** How bodies are read. */
export interface BodyReading {
  readonly maxJsonValues: number;
  readonly slices: Slices;
}

/**
 * The JSON value of a request body; numbers that a double cannot carry stay as they were written. A large one is read a
 * little in each turn of the event loop.
 * @param pieces - its bytes; each is taken out as it is read, so that no body is held as bytes and as text.
 * @throws `ERR_INVALID_REQUEST` saying where the text stops being JSON; `ERR_PAYLOAD_TOO_LARGE` for too many values or keys.
 */
export async function readJsonBody(
  pieces: Buffer[],
  { maxJsonValues, slices }: BodyReading,
): Promise<JsonValue> {
  const limits = { maxValues: maxJsonValues, maxObjects: MAX_JSON_OBJECTS, maxKeys: MAX_OBJECT_KEYS };
  const steps = readingSteps(pieces, limits);
  const isSmall = pieces.reduce((bytes, piece) => bytes + piece.length, 0) <= SMALL_BODY_BYTES;
  return isSmall ? atOnce(steps) : slices.run(steps);
}

function* readingSteps(pieces: Buffer[], limits: StrictJsonOptions): Generator<undefined, JsonValue> {
  const decoder = new Utf8Decoder();
  const texts: string[] = [];
  for (const piece of piecesOut(pieces)) {
    texts.push(decoder.decode(piece));
    yield;
  }
  texts.push(decoder.end());
  const text = texts.splice(0).join('');
  yield;
  const reader = new StrictJsonReader(text, limits);
  while (!reader.read(STEP_CHARACTERS)) yield;
  return reader.result();
}

/** All pieces in their order, none of them kept by the list. */
function* piecesOut(pieces: Buffer[]): Generator<Buffer> {
  pieces.reverse();
  for (let piece = pieces.pop(); piece !== undefined; piece = pieces.pop()) yield piece;
}

function atOnce<Value>(steps: Iterator<unknown, Value>): Value {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
