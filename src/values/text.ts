/** Text that can be carried and shown: whole in UTF-8, and without what a terminal obeys or hides instead of showing it. */
import { FlywheelError } from '../errors/flywheel-error.js';

/** Half of a surrogate pair would arrive as another character. @throws `ERR_INVALID_REQUEST` for text with half of a surrogate pair. */
export function wholeText(text: string): string {
  if (text.isWellFormed()) return text;
  throw new FlywheelError(
    'ERR_INVALID_REQUEST',
    'The text contains half of a surrogate pair, which is not valid Unicode.',
  );
}

/**
 * For a character class of a regular expression with the flag `u`: C0, DEL, C1, line and paragraph separators, and all that
 * Unicode says to show nothing for (marks that join, split or turn text round, tags, fillers, the byte order mark).
 */
export const HIDDEN_CHARACTERS = String.raw`\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{FFF9}-\u{FFFB}`;

/** Holds nothing hidden, as nearly all text. */
const PLAIN = /^[ -~]*$/;

/**
 * Replaces what a pattern finds that looks for hidden characters only. It is made when text comes that could hold any: that takes
 * longer than all else that a short command prints.
 */
export function replacingHidden(source: string, by: string | ((found: string) => string)) {
  let pattern: RegExp | undefined;
  return (text: string): string => {
    if (PLAIN.test(text)) return text;
    pattern ??= new RegExp(source, 'gu');
    return typeof by === 'string' ? text.replace(pattern, by) : text.replace(pattern, by);
  };
}

/** Text of unknown origin without what a terminal would obey or hide. */
export const withoutHidden = replacingHidden(`[${HIDDEN_CHARACTERS}]`, '');

const LINE_BREAKS = /[\t\n\r\u2028\u2029]+/g;

/** The same on one line; breaks and tabs become a space. */
export const visibleLine = (text: string): string => withoutHidden(text.replace(LINE_BREAKS, ' '));
