/** Which characters a terminal obeys or hides instead of showing them, and text without them. */

/**
 * For a character class of a regular expression with the flag `u`: C0, DEL, C1, line and paragraph separators, and all that
 * Unicode says to show nothing for (marks that join, split or turn text round, tags, fillers, the byte order mark).
 */
export const HIDDEN_CHARACTERS = String.raw`\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{FFF9}-\u{FFFB}`;

const HIDDEN = new RegExp(`[${HIDDEN_CHARACTERS}]`, 'gu');
const LINE_BREAKS = /[\t\n\r\u2028\u2029]+/g;

/** Text of unknown origin on one line, without what a terminal would obey or hide; breaks and tabs become a space. */
export const visibleLine = (text: string): string => text.replace(LINE_BREAKS, ' ').replace(HIDDEN, '');
