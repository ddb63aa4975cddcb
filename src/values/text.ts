/** Text for output: valid Unicode, without characters that control a terminal or are invisible. */
import { FlywheelError } from '../errors/flywheel-error.js';

/** @throws `ERR_INVALID_REQUEST` for half of a surrogate pair, which would arrive as another character. */
export function wholeText(text: string): string {
  if (text.isWellFormed()) return text;
  throw new FlywheelError(
    'ERR_INVALID_REQUEST',
    'The text contains half of a surrogate pair, which is not valid Unicode.',
  );
}

/**
 * For a character class with flag `u`: C0, DEL, C1, line and paragraph separators, and all characters that Unicode calls
 * ignorable (joiners, splitters, direction marks, tags, fillers, the byte order mark).
 */
export const HIDDEN_CHARACTERS = String.raw`\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{FFF9}-\u{FFFB}`;

const PLAIN = /^[ -~]*$/;

/**
 * A replacer for a pattern of hidden characters. The expression is compiled only when text beyond printable ASCII arrives:
 * compiling takes longer than the rest of the output of a short command.
 */
export function replacingHidden(source: string, by: string | ((found: string) => string)) {
  let pattern: RegExp | undefined;
  return (text: string): string => {
    if (PLAIN.test(text)) return text;
    pattern ??= new RegExp(source, 'gu');
    return typeof by === 'string' ? text.replace(pattern, by) : text.replace(pattern, by);
  };
}

/** Removes characters that control a terminal or are invisible. */
export const withoutHidden = replacingHidden(`[${HIDDEN_CHARACTERS}]`, '');

const LINE_BREAKS = /[\t\n\r\u2028\u2029]+/g;

/** {@link withoutHidden} on one line; line breaks and tabs become a space. */
export const visibleLine = (text: string): string => withoutHidden(text.replace(LINE_BREAKS, ' '));
