/** All text of unknown origin passes through here on its way to a terminal. `values/text.ts` defines hidden characters. */
import {
  escapeHidden,
  HIDDEN_CHARACTERS,
  HIDDEN_IN_LINES,
  replacingHidden,
  visibleLine,
} from '../../values/text.js';

/** The escapes that chalk writes for the styles of `color.ts`. */
const STYLE = '\\u001b\\[(?:1|2|22|31|32|33|39)m';

/** Removes control and other hidden characters, except tabs and newlines. */
export const safeText = replacingHidden(HIDDEN_IN_LINES, '');

/** {@link safeText} on one line. */
export const safeLine = visibleLine;

/** Second defence for a line of a view: text from outside went through {@link safeLine} before; here only colours pass. */
export const printableLine = replacingHidden(`(${STYLE})|[${HIDDEN_CHARACTERS}]`, '$1');

/**
 * JSON text with every control or hidden character escaped, also those that JSON allows unescaped. Newlines and tabs in JSON
 * text are its layout; those in strings are escaped already.
 */
export const safeJson = (value: unknown, indent?: number): string =>
  escapeHidden(JSON.stringify(value, null, indent));
