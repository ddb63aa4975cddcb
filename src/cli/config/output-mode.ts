/** The output mode, decided once: by flags, else by what stdout is. */
import type { OutputMode } from './settings.js';

/** What the flags say, else people on a terminal and JSON elsewhere. */
export function outputMode(
  flags: { readonly json?: boolean; readonly output?: string },
  stdoutIsTTY: boolean,
): OutputMode {
  if (flags.output === 'human' || flags.output === 'json' || flags.output === 'ndjson') return flags.output;
  return flags.json === true || !stdoutIsTTY ? 'json' : 'human';
}
