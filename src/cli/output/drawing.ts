/** What may be drawn for people: moving pictures or sentences only, and which characters their terminal is sure to have. */

/** Decided once for a run. */
export interface Drawing {
  /** No spinner and no bar: sentences, each on a line of its own. */
  readonly accessible: boolean;
  /** Nothing but ASCII in what is ours; text of others stays as it is. */
  readonly ascii: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

const isSet = (value: string | undefined): value is string => value !== undefined && value !== '';

/** A locale that is named and has another encoding. Where none is named, terminals of today take UTF-8. */
function hasOtherEncoding(env: Environment): boolean {
  const locale = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find(isSet);
  return locale !== undefined && !/utf-?8/i.test(locale);
}

/** Terminals without further characters: no emulator at all, and the console of Linux. */
const PLAIN_TERMINALS: ReadonlySet<string | undefined> = new Set(['dumb', 'linux']);

/** By `--accessible` and FLYWHEEL_ACCESSIBLE, by TERM, and by the locale. */
export function drawingOf(env: Environment, accessibleFlag: boolean): Drawing {
  const wish = env['FLYWHEEL_ACCESSIBLE'];
  const accessible = accessibleFlag || (isSet(wish) && wish !== '0') || env['TERM'] === 'dumb';
  return { accessible, ascii: accessible || PLAIN_TERMINALS.has(env['TERM']) || hasOtherEncoding(env) };
}

/** Characters beyond ASCII that this program writes, and what stands for them. */
const IN_ASCII: Readonly<Record<string, string>> = {
  ...{ '→': '->', '…': '...', '–': '-', '—': '-', '·': '.', '×': 'x', '≤': '<=', '≥': '>=' },
  ...{ '█': '#', '░': '-', '─': '-', '│': '|', '“': '"', '”': '"', '’': "'", '✓': 'ok' },
};
const BEYOND = new RegExp(`[${Object.keys(IN_ASCII).join('')}]`, 'gu');

/** The text with nothing of ours beyond ASCII. */
export const asciiText = (text: string): string =>
  text.replace(BEYOND, (character) => IN_ASCII[character] ?? character);
