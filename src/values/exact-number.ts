/**
 * Detects numbers that parsing would change, such as 9007199254740993, and preserves their text, so that they can be refused or
 * shown exactly.
 */
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
    return `${mark()}${this.text}`;
  }
}

let made: { readonly mark: string; readonly marked: RegExp } | undefined;

function mark(): string {
  if (made === undefined) {
    const chance = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('hex');
    made = { mark: chance, marked: new RegExp(`"${chance}([^"]*)"`, 'g') };
  }
  return made.mark;
}

/** JSON text of a value, with an {@link InexactNumber} written digit by digit. */
export const jsonText = (value: unknown): string => unmarked(JSON.stringify(value));

/** {@link jsonText} with a replacer for other types; for a number the replacer returns {@link InexactNumber.toJSON}. */
export const jsonTextOf = (value: unknown, replace: (key: string, value: unknown) => unknown): string =>
  unmarked(JSON.stringify(value, replace));

const unmarked = (text: string): string =>
  made !== undefined && text.includes(made.mark) ? text.replaceAll(made.marked, '$1') : text;

/** Longer decimals always count as inexact. */
const MAX_DECIMAL_LENGTH = 400;

/** Fast path: up to 15 digits without an exponent are always exact. */
export const isPlainlyExact = (text: string): boolean => text.length <= 15 && !/e/i.test(text);

/** Whether the double is exactly the written decimal. Signs agree by construction. */
export function standsFor(text: string, value: number): boolean {
  const written = text.replace(/^-/, '');
  if (written.length > MAX_DECIMAL_LENGTH || !Number.isFinite(value)) return false;
  if (written === String(Math.abs(value))) return true;
  try {
    return sameDecimal(written, String(Math.abs(value)));
  } catch {
    return false;
  }
}
