/** Words as a shell reads them back, for command lines that can be pasted. */
import { HIDDEN_CHARACTERS } from '../values/text.js';

const PLAIN_WORD = /^[A-Za-z0-9_@%+=:,./-]+$/;
const HIDDEN = new RegExp(`[${HIDDEN_CHARACTERS}]`, 'gu');

/** Shells that know `$'…'` read a code point so; what is hidden could neither be printed nor copied otherwise. */
const asCodePoint = (char: string): string =>
  `\\U${(char.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;

/** A word as a shell reads it back. */
function shellWord(word: string): string {
  if (PLAIN_WORD.test(word)) return word;
  if (word.search(HIDDEN) < 0) return `'${word.replaceAll("'", `'\\''`)}'`;
  return `$'${word.replace(/[\\']/g, '\\$&').replace(HIDDEN, asCodePoint)}'`;
}

/** A command line that can be pasted. */
export const shellLine = (words: readonly string[]): string => words.map(shellWord).join(' ');
