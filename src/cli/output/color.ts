/** Decides once per stream how it is written: with colour or not, and for people or as JSON. */
import type { MessageForm, OutputMode } from '../../compose/settings.js';

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

/**
 * The colour level of one stream (contract, section 2.3): NO_COLOR and `--no-color` first, then FORCE_COLOR and
 * CLICOLOR_FORCE, then what the terminal says.
 */
export function colorLevel(env: Environment, isTTY: boolean, noColorFlag: boolean): ColorLevel {
  const { NO_COLOR = '', FORCE_COLOR: force, CLICOLOR_FORCE = '0', TERM = '', COLORTERM } = env;
  if (noColorFlag || NO_COLOR !== '') return 0;
  if (force !== undefined) return FORCED[force] ?? 1;
  if (!['', '0'].includes(CLICOLOR_FORCE)) return 1;
  if (!isTTY || TERM === 'dumb') return 0;
  if (COLORTERM === 'truecolor') return 3;
  return TERM.includes('256') ? 2 : 1;
}

const FORCED: Readonly<Record<string, ColorLevel>> = { 0: 0, false: 0, 2: 2, 3: 3 };

/** Is text all that is written, and nothing moves? */
export const isPlain = (env: Environment, isTTY: boolean): boolean =>
  !isTTY || env['TERM'] === 'dumb' || !['', undefined].includes(env['NO_COLOR']);

/** Styles that change nothing. */
export function plainStyle(width: number): Style {
  const same = (text: string): string => text;
  return { width, explorer: null, bold: same, dim: same, good: same, bad: same, warn: same };
}

/** Styles for a level; chalk is loaded only where there is colour. */
export async function createStyle(level: ColorLevel, width: number): Promise<Style> {
  if (level === 0) return plainStyle(width);
  const { Chalk } = await import('chalk');
  const { bold, dim, green: good, red: bad, yellow: warn } = new Chalk({ level });
  return { width, explorer: null, bold, dim, good, bad, warn };
}

/** All modes, as `--output` names them. */
export const OUTPUT_MODES = ['human', 'json', 'ndjson', 'csv'] as const satisfies readonly OutputMode[];

/** The options that decide. */
interface OutputFlags {
  readonly json?: unknown;
  readonly output?: unknown;
}

const named = ({ json, output }: OutputFlags): OutputMode | undefined =>
  OUTPUT_MODES.find((mode) => mode === output) ?? (json === true ? 'json' : undefined);

/** What the flags say, else people on a terminal and JSON elsewhere. */
export const outputMode = (flags: OutputFlags, stdoutIsTTY: boolean): OutputMode =>
  named(flags) ?? (stdoutIsTTY ? 'human' : 'json');

/** What is said on stderr is for people, unless somebody asked for JSON. */
export const messageForm = (flags: OutputFlags): MessageForm =>
  ['json', 'ndjson'].includes(named(flags) ?? '') ? 'json' : 'text';
