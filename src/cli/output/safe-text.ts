/** Makes text of unknown origin harmless for a terminal. */

/** C0 without tab and newline, DEL, C1, and the marks that reorder text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: removing control characters is the point.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const UNESCAPED_BY_JSON = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** The text without control characters and reordering marks; tabs and newlines stay. */
export const safeText = (text: string): string => text.replace(CONTROL, '');

/** The text on one line, as {@link safeText}. */
export const safeLine = (text: string): string => safeText(text).replace(/[\t\n]+/g, ' ');

const escapeUnit = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** JSON text of a value in which every control character is escaped, also those that JSON would let stand. */
export const safeJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(UNESCAPED_BY_JSON, escapeUnit);
