/** The words of a command line as they may be kept and shown again: without what may be a key in them. */
import { NodeAddress } from '../chain/node-address.js';

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
