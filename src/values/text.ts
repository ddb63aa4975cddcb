/** Text for output: valid Unicode, without characters that control a terminal or are invisible; and names of projects. */
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

/** All hidden characters except tabs and newlines. */
export const HIDDEN_IN_LINES = `(?![\\t\\n])[${HIDDEN_CHARACTERS}]`;

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

const escapeUnits = (text: string): string =>
  Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
    .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('');

/** Escapes control and other hidden characters as JSON does, except tabs and newlines. */
export const escapeHidden = replacingHidden(HIDDEN_IN_LINES, escapeUnits);

/** What an emoji consists of beside its characters. */
const OF_EMOJI = /(?<=\p{Extended_Pictographic}\u{FE0F}?)[\u{FE0E}\u{FE0F}\u{200D}]/gu;

/** The hidden characters of a text that are no part of an emoji, tab or newline. */
export const hiddenIn = (text: string): readonly string[] =>
  PLAIN.test(text) ? [] : (text.replace(OF_EMOJI, '').match(new RegExp(HIDDEN_IN_LINES, 'gu')) ?? []);

/** Removes characters that control a terminal or are invisible. */
export const withoutHidden = replacingHidden(`[${HIDDEN_CHARACTERS}]`, '');

const LINE_BREAKS = /[\t\n\r\u2028\u2029]+/g;

/** {@link withoutHidden} on one line; line breaks and tabs become a space. */
export const visibleLine = (text: string): string => withoutHidden(text.replace(LINE_BREAKS, ' '));

/** Fits into a DNS label; no character needs quoting in a shell or URL. */
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export const PROJECT_NAME_RULE = 'small letters, digits and hyphens, 1 to 63 of them';

export const isProjectName = (text: string): boolean => NAME.test(text);

/** The symbol of a token as a project name; `undefined` if no valid character remains. */
export function projectNameOf(symbol: string): string | undefined {
  const slug = symbol
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '');
  return isProjectName(slug) ? slug : undefined;
}
