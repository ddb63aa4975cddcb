/**
 * The one way by which text of unknown origin reaches a terminal. What is hidden or obeyed there is decided in
 * `values/visible-text`.
 */
import { HIDDEN_CHARACTERS, replacingHidden, visibleLine } from '../../values/text.js';

/** All that is hidden, but for the line breaks and tabs of text that has several lines. */
const HIDDEN_IN_LINES = `(?![\\t\\n])[${HIDDEN_CHARACTERS}]`;
/** The escapes that the styles of `color` write, and no others. */
const STYLE = '\\u001b\\[(?:1|2|22|31|32|33|39)m';

/** The text without control characters and hidden ones; tabs and newlines stay. */
export const safeText = replacingHidden(HIDDEN_IN_LINES, '');

/** The text on one line, as {@link safeText}. */
export const safeLine = visibleLine;

/**
 * A line of a view as it may be printed: what came from outside went through {@link safeLine} before it was styled; should a
 * place have forgotten that, nothing but colour gets through.
 */
export const printableLine = replacingHidden(`(${STYLE})|[${HIDDEN_CHARACTERS}]`, '$1');

const escapeUnits = (text: string): string =>
  Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
    .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('');

/** Line breaks and tabs in JSON text are its own layout; those of its strings are escaped already. */
const escaped = replacingHidden(HIDDEN_IN_LINES, escapeUnits);

/** JSON text of a value in which every control or hidden character is escaped, also those that JSON would let stand. */
export const safeJson = (value: unknown, indent?: number): string =>
  escaped(JSON.stringify(value, null, indent));
