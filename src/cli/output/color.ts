/** Decides how each stream is written: with colour or not, as text or JSON. */
import type { MessageForm, OutputMode } from '../../compose/settings.js';

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
export function isColored(env: Environment, isTTY: boolean, noColorFlag: boolean): boolean {
  const { NO_COLOR = '', FORCE_COLOR: force, CLICOLOR_FORCE = '0', TERM } = env;
  if (noColorFlag || NO_COLOR !== '') return false;
  if (force !== undefined) return force !== '0' && force !== 'false';
  return !['', '0'].includes(CLICOLOR_FORCE) || (isTTY && TERM !== 'dumb');
}

/** Plain progress is lines of text, without a spinner. */
export const isPlain = (env: Environment, isTTY: boolean): boolean =>
  !isTTY || env['TERM'] === 'dumb' || !['', undefined].includes(env['NO_COLOR']);

export function createStyle(colored: boolean, width: number): Style {
  const paint =
    (open: number, close: number) =>
    (text: string): string =>
      colored && text !== '' ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  return {
    ...{ width, explorer: null, bold: paint(1, 22), dim: paint(2, 22) },
    ...{ good: paint(32, 39), bad: paint(31, 39), warn: paint(33, 39) },
  };
}

export const plainStyle = (width: number): Style => createStyle(false, width);

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
