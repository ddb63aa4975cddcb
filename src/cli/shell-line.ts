/** The words of a command line as they may be kept and shown again, without what may be a key in them, and as a shell reads them back. */
import { NodeAddress } from '../chain/node-address.js';
import { HIDDEN_CHARACTERS } from '../values/text.js';

const HIDDEN = '***';
/** An address, perhaps behind the name of its option. */
const ADDRESS = /^(--[\w-]+=)?(https?:\/\/.*)$/is;
/** A program with its arguments. */
const SIGNER = /^(--(?:operator|burn)-signer)(?:=(.*))?$/s;

const shownProgram = (command: string): string => {
  const [program = '', ...rest] = command.trim().split(/\s+/);
  return rest.length === 0 ? program : `${program} ${HIDDEN}`;
};

function shownWord(word: string, before: string | undefined): string {
  const [, signer, command] = SIGNER.exec(word) ?? [];
  if (signer !== undefined && command !== undefined) return `${signer}=${shownProgram(command)}`;
  if (before !== undefined && SIGNER.exec(before)?.[2] === undefined && SIGNER.test(before))
    return shownProgram(word);
  const [, flag = '', url] = ADDRESS.exec(word) ?? [];
  if (url === undefined) return word;
  return `${flag}${URL.canParse(url) ? new NodeAddress(new URL(url), url).shown : HIDDEN}`;
}

/** Nodes may have a key in their address, and programs that sign one in their arguments. */
export const shownWords = (words: readonly string[]): readonly string[] =>
  words.map((word, at) => shownWord(word, words[at - 1]));

const PLAIN_WORD = /^[A-Za-z0-9_@%+=:,./-]+$/;
const INVISIBLE = new RegExp(`[${HIDDEN_CHARACTERS}]`, 'gu');

/** Shells that know `$'…'` read a code point so; what is hidden could neither be printed nor copied otherwise. */
const asCodePoint = (char: string): string =>
  `\\U${(char.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;

/** A word as a shell reads it back. */
function shellWord(word: string): string {
  if (PLAIN_WORD.test(word)) return word;
  if (word.search(INVISIBLE) < 0) return `'${word.replaceAll("'", `'\\''`)}'`;
  return `$'${word.replace(/[\\']/g, '\\$&').replace(INVISIBLE, asCodePoint)}'`;
}

/** A command line that can be pasted. */
export const shellLine = (words: readonly string[]): string => words.map(shellWord).join(' ');
