/** All text of unknown origin passes through here on its way to a terminal. `values/text.ts` defines hidden characters. */
import { HIDDEN_CHARACTERS, replacingHidden, visibleLine } from '../../values/text.js';

/** All hidden characters except tabs and newlines. */
const HIDDEN_IN_LINES = `(?![\\t\\n])[${HIDDEN_CHARACTERS}]`;
/** The escapes that chalk writes for the styles of `color.ts`. */
const STYLE = '\\u001b\\[(?:1|2|22|31|32|33|39)m';

/** Removes control and other hidden characters, except tabs and newlines. */
export const safeText = replacingHidden(HIDDEN_IN_LINES, '');

/** {@link safeText} on one line. */
export const safeLine = visibleLine;

/** Second defence for a line of a view: text from outside went through {@link safeLine} before; here only colours pass. */
export const printableLine = replacingHidden(`(${STYLE})|[${HIDDEN_CHARACTERS}]`, '$1');

const escapeUnits = (text: string): string =>
  Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
    .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('');

/** Newlines and tabs in JSON text are its layout; those in strings are escaped already. */
const escaped = replacingHidden(HIDDEN_IN_LINES, escapeUnits);

/** JSON text with every control or hidden character escaped, also those that JSON allows unescaped. */
export const safeJson = (value: unknown, indent?: number): string =>
  escaped(JSON.stringify(value, null, indent));
