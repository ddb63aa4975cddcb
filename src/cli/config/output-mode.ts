/** The output mode, decided once: by flags, else by what stdout is. */
import type { OutputMode } from './settings.js';

/** All modes, as `--output` names them. */
export const OUTPUT_MODES = ['human', 'json', 'ndjson', 'csv'] as const satisfies readonly OutputMode[];

/** What the flags say, else people on a terminal and JSON elsewhere. */
export function outputMode(
  flags: { readonly json?: boolean; readonly output?: string },
  stdoutIsTTY: boolean,
): OutputMode {
  const named = OUTPUT_MODES.find((mode) => mode === flags.output);
  if (named !== undefined) return named;
  return flags.json === true || !stdoutIsTTY ? 'json' : 'human';
}
