/** Decides how each stream is written: colour level, text or JSON. */
import type { MessageForm, OutputMode } from '../../compose/settings.js';

/** As chalk counts: none, 16 colours, 256, all. */
type ColorLevel = 0 | 1 | 2 | 3;

export interface Style {
  readonly width: number;
  /** Public cluster for explorer links; `null`: no links. */
  readonly explorer: string | null;
  bold(text: string): string;
  dim(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  warn(text: string): string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Precedence (contract, section 2.3): NO_COLOR and `--no-color`, FORCE_COLOR, CLICOLOR_FORCE, then the terminal. */
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

/** Plain progress is lines of text, without a spinner. */
export const isPlain = (env: Environment, isTTY: boolean): boolean =>
  !isTTY || env['TERM'] === 'dumb' || !['', undefined].includes(env['NO_COLOR']);

export function plainStyle(width: number): Style {
  const same = (text: string): string => text;
  return { width, explorer: null, bold: same, dim: same, good: same, bad: same, warn: same };
}

/** Loads chalk only for colour. */
export async function createStyle(level: ColorLevel, width: number): Promise<Style> {
  if (level === 0) return plainStyle(width);
  const { Chalk } = await import('chalk');
  const { bold, dim, green: good, red: bad, yellow: warn } = new Chalk({ level });
  return { width, explorer: null, bold, dim, good, bad, warn };
}

export const OUTPUT_MODES = ['human', 'json', 'ndjson', 'csv'] as const satisfies readonly OutputMode[];

interface OutputFlags {
  readonly json?: unknown;
  readonly output?: unknown;
}

const named = ({ json, output }: OutputFlags): OutputMode | undefined =>
  OUTPUT_MODES.find((mode) => mode === output) ?? (json === true ? 'json' : undefined);

export const outputMode = (flags: OutputFlags, stdoutIsTTY: boolean): OutputMode =>
  named(flags) ?? (stdoutIsTTY ? 'human' : 'json');

/** Messages on stderr are text unless a flag says JSON; a pipe alone does not change them. */
export const messageForm = (flags: OutputFlags): MessageForm =>
  ['json', 'ndjson'].includes(named(flags) ?? '') ? 'json' : 'text';
