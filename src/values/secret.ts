/** A secret that cannot be printed by accident. */

const MASK = '***';

/** `inspect.custom` of node:util, whose types a user of the library need not have. */
const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom');

/** Wraps secret text; every ordinary way of printing it shows `***`. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself, for the one place that needs it. */
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
