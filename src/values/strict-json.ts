/**
 * JSON text → value, refusing what JSON.parse lets pass: duplicate keys, deep nesting and invalid UTF-8; numbers that would
 * change when they are read are kept as they were written.
 */
import { FlywheelError } from '../errors/flywheel-error.js';
import type { JsonValue } from './canonical-json.js';
import { type StrictJsonOptions, StrictJsonReader } from './json-reader.js';

/** What JSON text holds. */
interface StrictJson {
  /** An `InexactNumber` stands in it for every number that a double cannot carry, such as 18446744073709551615. */
  readonly value: JsonValue;
}

/** Bytes as text: UTF-8, with or without a byte order mark. @throws `ERR_INVALID_REQUEST` when it is not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  const decoder = new Utf8Decoder();
  return decoder.decode(bytes) + decoder.end();
}

/** The same in pieces: characters may begin in one piece and end in the next. */
export class Utf8Decoder {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });

  /** @throws `ERR_INVALID_REQUEST` when it is not UTF-8. */
  decode(bytes: Uint8Array): string {
    return this.#attempt(() => this.#decoder.decode(bytes, { stream: true }));
  }

  /** What was left over; empty unless something is missing. @throws `ERR_INVALID_REQUEST` when a character was cut short. */
  end(): string {
    return this.#attempt(() => this.#decoder.decode());
  }

  #attempt(decode: () => string): string {
    try {
      return decode();
    } catch {
      throw new FlywheelError('ERR_INVALID_REQUEST', 'The text is not valid UTF-8.');
    }
  }
}

/**
 * Parses one JSON value that fills the whole text.
 * @throws `ERR_INVALID_REQUEST` naming line and column; `ERR_PAYLOAD_TOO_LARGE` for more values than allowed.
 */
export function parseStrictJson(text: string, options: StrictJsonOptions = {}): StrictJson {
  const reader = new StrictJsonReader(text, options);
  reader.read(Number.POSITIVE_INFINITY);
  return { value: reader.result() };
}
