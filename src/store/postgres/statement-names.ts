/**
 * Names of the statements that a connection prepares: what is asked again and again is read and planned once. Only texts that are
 * the same whatever they are asked about have one, and only so many: each connection keeps all that it has prepared.
 */
import { sha256 } from '../../values/digest.js';

/** Statements with a name; those that come later have none. */
const MAX_NAMES = 160;

/** A list, or several rows at once: its text grows with what it is asked about. */
const GROWS = /\bin \(\$|\)\s*,\s*\((?:\$|cast\()/;

/** Characters of a digest that no two texts of a program have in common. */
const NAME_LENGTH = 16;

export class StatementNames {
  readonly #names = new Map<string, string>();

  /** @returns the same name for the same text, or `undefined` where it has none. */
  of(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    if (this.#names.size >= MAX_NAMES || GROWS.test(text)) return undefined;
    const name = sha256(text).slice(0, NAME_LENGTH);
    this.#names.set(text, name);
    return name;
  }
}
