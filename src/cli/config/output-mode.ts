/** In what form results and messages are written, decided once: by flags, and results else by what stdout is. */
import type { MessageForm, OutputMode } from '../../compose/settings.js';

/** All modes, as `--output` names them. */
export const OUTPUT_MODES = ['human', 'json', 'ndjson', 'csv'] as const satisfies readonly OutputMode[];

/** The options that decide. */
interface OutputFlags {
  readonly json?: boolean;
  readonly output?: string;
}

const named = ({ json, output }: OutputFlags): OutputMode | undefined =>
  OUTPUT_MODES.find((mode) => mode === output) ?? (json === true ? 'json' : undefined);

/** What the flags say, else people on a terminal and JSON elsewhere. */
export const outputMode = (flags: OutputFlags, stdoutIsTTY: boolean): OutputMode =>
  named(flags) ?? (stdoutIsTTY ? 'human' : 'json');

/** What is said on stderr is for people, unless somebody asked for JSON. */
export const messageForm = (flags: OutputFlags): MessageForm =>
  ['json', 'ndjson'].includes(named(flags) ?? '') ? 'json' : 'text';
