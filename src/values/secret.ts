/** A secret that cannot be printed by accident. */
import { inspect } from 'node:util';

const MASK = '***';

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

  [inspect.custom](): string {
    return MASK;
  }
}
