/** Redacts secrets in a command line, and quotes its words for a shell. */
import { NodeAddress } from '../chain/node-address.js';
import { HIDDEN_CHARACTERS } from '../values/text.js';

const HIDDEN = '***';
const ADDRESS = /^(--[\w-]+=)?(https?:\/\/.*)$/is;
/** An option that names a signer program, perhaps with its command. */
const SIGNER = /^(--(?:operator|burn)-signer)(?:=(.*))?$/s;

/** An API address contains no key; parts that it must not have are omitted. */
function shownApi(text: string): string {
  if (!URL.canParse(text)) return HIDDEN;
  const { origin, pathname } = new URL(text);
  return `${origin}${pathname === '/' ? '' : pathname}`;
}

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
  if ((flag || before) === (flag ? '--api-url=' : '--api-url')) return flag + shownApi(url);
  return `${flag}${URL.canParse(url) ? new NodeAddress(new URL(url), url).shown : HIDDEN}`;
}

/** RPC addresses, and arguments of signer programs, may contain keys. */
export const shownWords = (words: readonly string[]): readonly string[] =>
  words.map((word, at) => shownWord(word, words[at - 1]));

const PLAIN_WORD = /^[A-Za-z0-9_@%+=:,./-]+$/;
const INVISIBLE = new RegExp(`[${HIDDEN_CHARACTERS}]`, 'gu');

/** bash and zsh read `$'\U…'`. A hidden character could not be printed or copied otherwise. */
const asCodePoint = (char: string): string =>
  `\\U${(char.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;

function shellWord(word: string): string {
  if (PLAIN_WORD.test(word)) return word;
  if (word.search(INVISIBLE) < 0) return `'${word.replaceAll("'", `'\\''`)}'`;
  return `$'${word.replace(/[\\']/g, '\\$&').replace(INVISIBLE, asCodePoint)}'`;
}

export const shellLine = (words: readonly string[]): string => words.map(shellWord).join(' ');
