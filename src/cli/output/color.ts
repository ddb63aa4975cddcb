/** Decides once per stream whether there is colour, and gives views the few styles they use. */

/** Colour level of a stream as chalk counts: none, 16 colours, 256, all. */
type ColorLevel = 0 | 1 | 2 | 3;

/** What a view may do to text. */
export interface Style {
  readonly width: number;
  /** Name of the public cluster that transactions and addresses are of, where links to an explorer may be shown. */
  readonly explorer: string | null;
  bold(text: string): string;
  dim(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  warn(text: string): string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const isSet = (value: string | undefined): value is string => value !== undefined && value !== '';

function forcedLevel(env: Environment): ColorLevel | undefined {
  const force = env['FORCE_COLOR'];
  if (force !== undefined) {
    if (force === '0' || force === 'false') return 0;
    if (force === '2') return 2;
    return force === '3' ? 3 : 1;
  }
  const cli = env['CLICOLOR_FORCE'];
  return isSet(cli) && cli !== '0' ? 1 : undefined;
}

/**
 * The colour level of one stream (contract, section 2.3): NO_COLOR and `--no-color` first, then FORCE_COLOR and
 * CLICOLOR_FORCE, then what the terminal says.
 */
export function colorLevel(env: Environment, isTTY: boolean, noColorFlag: boolean): ColorLevel {
  if (noColorFlag || isSet(env['NO_COLOR'])) return 0;
  const forced = forcedLevel(env);
  if (forced !== undefined) return forced;
  if (!isTTY || env['TERM'] === 'dumb') return 0;
  if (env['COLORTERM'] === 'truecolor') return 3;
  return (env['TERM'] ?? '').includes('256') ? 2 : 1;
}

/** Is text all that is written, and nothing moves? */
export const isPlain = (env: Environment, isTTY: boolean): boolean =>
  !isTTY || env['TERM'] === 'dumb' || isSet(env['NO_COLOR']);

const same = (text: string): string => text;

/** Styles that change nothing. */
export const plainStyle = (width: number): Style => ({
  width,
  explorer: null,
  bold: same,
  dim: same,
  good: same,
  bad: same,
  warn: same,
});

/** Styles for a level; chalk is loaded only where there is colour. */
export async function createStyle(level: ColorLevel, width: number): Promise<Style> {
  if (level === 0) return plainStyle(width);
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level });
  return {
    width,
    explorer: null,
    bold: chalk.bold,
    dim: chalk.dim,
    good: chalk.green,
    bad: chalk.red,
    warn: chalk.yellow,
  };
}
