/**
 * A number whose JSON text a double cannot carry, such as 9007199254740993. It is kept as it was written, so that it can be
 * refused where it matters, and shown again as it was sent.
 */
import { randomBytes } from 'node:crypto';

/** Stands in a parsed value where JSON.parse would have put another number than the one written. */
export class InexactNumber {
  /** As written; JSON number syntax. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** A marker that {@link jsonText} replaces by the number; no other text can hold it. */
  toJSON(): string {
    return `${MARK}${this.text}`;
  }
}

const MARK = randomBytes(16).toString('hex');
const MARKED = new RegExp(`"${MARK}([^"]*)"`, 'g');

/** JSON text of a value, with numbers that a double cannot carry as they were written. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes(MARK) ? text.replaceAll(MARKED, '$1') : text;
}
