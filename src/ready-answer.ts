/** Scripts ask for the version and for help often, people for help first of all: the build has written it, and nothing is loaded to tell it. */
import { fstatSync, readFileSync, statSync } from 'node:fs';
import { asciiText, drawingOf } from './cli/output/drawing.js';
import { helpWidth } from './cli/output/help-width.js';

export interface Asked {
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** Of the terminal that is printed to, as far as one is; only asked where it may be one. */
  readonly columns: () => number;
  /** Where it is no terminal. */
  readonly defaultColumns: number;
}

const STDOUT = 1;
const VERSION: readonly string[] = ['--version', '-V'];
const HELP: readonly string[] = ['--help', '-h'];
/** A word that may be a command. */
const COMMAND_WORD = /^[a-z][a-z-]{0,30}$/;

/** What surely is no terminal needs no stream to say so, which takes longer to make than all else that help takes. */
export function mayBeTerminal(descriptor: number): boolean {
  try {
    const stats = fstatSync(descriptor);
    return stats.isCharacterDevice() && stats.rdev !== statSync('/dev/null').rdev;
  } catch {
    return true;
  }
}

/** What to print; `undefined` takes the long way, which says the same. */
export function readyAnswer({ words, env, version, ...screen }: Asked): string | undefined {
  const path = words.slice(0, -1);
  const last = words.at(-1) ?? '';
  if (path.length === 0 && VERSION.includes(last)) return `${version}\n`;
  if (!HELP.includes(last) || !path.every((word) => COMMAND_WORD.test(word))) return undefined;
  const columns = mayBeTerminal(STDOUT) ? screen.columns() : screen.defaultColumns;
  const file = `help/${helpWidth(columns)}/${['flywheel', ...path].join('/')}.txt`;
  try {
    const text = readFileSync(new URL(file, import.meta.url), 'utf8');
    return drawingOf(env, false).ascii ? asciiText(text) : text;
  } catch {
    // Of another width, or no command.
    return undefined;
  }
}
