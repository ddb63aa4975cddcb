/** Counts the values of JSON text while its bytes arrive, so that what is too much is refused before it has been sent. */
import { tooMany } from '../values/json-reader.js';

/** The most that a body may hold. */
export interface ArrivalLimits {
  readonly maxValues: number;
  readonly maxObjects: number;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Up to it bytes are white space, which says nothing about what comes. */
const SPACE = 0x20;

/** Looks at each byte once and keeps none; whether it is JSON at all is found out by who reads it. */
export class ArrivingValues {
  readonly #limits: ArrivalLimits;
  /** The whole is one. */
  #values = 1;
  #objects = 0;
  #inString = false;
  #escaped = false;
  /** A list or object has begun and nothing of it has come yet. */
  #opened = false;

  constructor(limits: ArrivalLimits) {
    this.#limits = limits;
  }

  /** @throws `ERR_PAYLOAD_TOO_LARGE` once there are more than allowed. */
  add(bytes: Uint8Array): void {
    for (const byte of bytes) {
      if (this.#inString) this.#inside(byte);
      else if (byte > SPACE) this.#outside(byte);
    }
    const { maxValues, maxObjects } = this.#limits;
    if (this.#objects > maxObjects) throw tooMany(maxObjects, 'objects');
    if (this.#values > maxValues) throw tooMany(maxValues, 'values');
  }

  #inside(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) this.#inString = false;
  }

  #outside(byte: number): void {
    if (byte === COMMA) this.#values += 1;
    else if (this.#opened && byte !== CLOSE_BRACKET && byte !== CLOSE_BRACE) this.#values += 1;
    if (byte === OPEN_BRACE) this.#objects += 1;
    this.#opened = byte === OPEN_BRACKET || byte === OPEN_BRACE;
    this.#inString = byte === QUOTE;
  }
}
