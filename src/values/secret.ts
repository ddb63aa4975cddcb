/** A secret that cannot be printed by accident. */

const MASK = '***';

/** `inspect.custom` of node:util, without a dependency on the types of Node. */
const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom');

/** Wraps secret text; every implicit conversion to text gives `***`. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself, for its single use. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [INSPECT](): string {
    return MASK;
  }
}
