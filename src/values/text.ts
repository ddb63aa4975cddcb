/** Text that can be carried and shown: whole in UTF-8, and without what a terminal obeys or hides instead of showing it. */
import { FlywheelError } from '../errors/flywheel-error.js';

/** Half of a surrogate pair would arrive as another character. @throws `ERR_INVALID_REQUEST` for text with half of a surrogate pair. */
export function wholeText(text: string): string {
  if (text.isWellFormed()) return text;
  throw new FlywheelError(
    'ERR_INVALID_REQUEST',
    'Text holds half of a surrogate pair, which no UTF-8 text can carry.',
  );
}

/**
 * For a character class of a regular expression with the flag `u`: C0, DEL, C1, line and paragraph separators, and all that
 * Unicode says to show nothing for (marks that join, split or turn text round, tags, fillers, the byte order mark).
 */
export const HIDDEN_CHARACTERS = String.raw`\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{FFF9}-\u{FFFB}`;

const HIDDEN = new RegExp(`[${HIDDEN_CHARACTERS}]`, 'gu');
const LINE_BREAKS = /[\t\n\r\u2028\u2029]+/g;

/** Text of unknown origin on one line, without what a terminal would obey or hide; breaks and tabs become a space. */
export const visibleLine = (text: string): string => text.replace(LINE_BREAKS, ' ').replace(HIDDEN, '');
