/**
 * Detects numbers that parsing would change, such as 9007199254740993, and preserves their text, so that they can be refused or
 * shown exactly.
 */
import { randomBytes } from 'node:crypto';
import { sameDecimal } from './token-amount.js';

/** Replaces a number in a parsed value that JSON.parse would have changed. */
export class InexactNumber {
  /** As written; JSON number syntax. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** A random marker that {@link jsonText} replaces by the number. */
  toJSON(): string {
    return `${MARK}${this.text}`;
  }
}

const MARK = randomBytes(16).toString('hex');
const MARKED = new RegExp(`"${MARK}([^"]*)"`, 'g');

/**
 * JSON text of a value, with an {@link InexactNumber} written digit by digit.
 * @param replace - for other types; for a number it returns {@link InexactNumber.toJSON}.
 */
export const jsonText = (value: unknown, replace?: (key: string, value: unknown) => unknown): string =>
  // `undefined` has no text.
  JSON.stringify(value, replace)?.replaceAll(MARKED, '$1');

/** Longer decimals always count as inexact. */
const MAX_DECIMAL_LENGTH = 400;

/** Whether the double is exactly the written decimal. Signs agree by construction. */
export function standsFor(text: string, value: number): boolean {
  // Up to 15 digits without an exponent are always exact.
  if (text.length <= 15 && !/e/i.test(text)) return true;
  const written = text.replace(/^-/, '');
  if (written.length > MAX_DECIMAL_LENGTH || !Number.isFinite(value)) return false;
  if (written === String(Math.abs(value))) return true;
  try {
    return sameDecimal(written, String(Math.abs(value)));
  } catch {
    return false;
  }
}
