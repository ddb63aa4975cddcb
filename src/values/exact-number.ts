/**
 * Whether a number that was read from text is the number that was written, and what stands in for one that is not, such as
 * 9007199254740993: kept as it was written, so that it can be refused where it matters, and shown again as it was sent.
 */
import { sameDecimal } from './token-amount.js';

/** Stands in a parsed value where JSON.parse would have put another number than the one written. */
export class InexactNumber {
  /** As written; JSON number syntax. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** A marker that {@link jsonText} replaces by the number; no other text can hold it. */
  toJSON(): string {
    return `${mark()}${this.text}`;
  }
}

/** Made with the first such number that becomes text; most processes meet none. */
let made: { readonly mark: string; readonly marked: RegExp } | undefined;

function mark(): string {
  if (made === undefined) {
    const chance = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('hex');
    made = { mark: chance, marked: new RegExp(`"${chance}([^"]*)"`, 'g') };
  }
  return made.mark;
}

/** JSON text of a value, with numbers that a double cannot carry as they were written. */
export const jsonText = (value: unknown): string => unmarked(JSON.stringify(value));

/** The same, where `replace` stands in for what has no JSON of its own; for a number it gives that of an {@link InexactNumber}. */
export const jsonTextOf = (value: unknown, replace: (key: string, value: unknown) => unknown): string =>
  unmarked(JSON.stringify(value, replace));

const unmarked = (text: string): string =>
  made !== undefined && text.includes(made.mark) ? text.replaceAll(made.marked, '$1') : text;

/** Beyond so many characters no decimal is kept exactly. */
const MAX_DECIMAL_LENGTH = 400;

/** Up to 15 digits without an exponent always read back; that is nearly every number. */
export const isPlainlyExact = (text: string): boolean => text.length <= 15 && !/e/i.test(text);

/** Does the number stand for exactly the decimal that was written? Signs agree by construction. */
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
