/** The one place that turns whatever was thrown into words on stderr and an exit number. */
import type { ExitCode } from '../errors/exit-codes.js';
import { outputMode } from './config/output-mode.js';
import type { OutputMode } from './config/settings.js';
import type { CliContext } from './context.js';
import { asFlywheelError } from './interruption.js';
import { colorLevel, createStyle } from './output/color.js';
import { reportError } from './output/error-report.js';

/** Tells what went wrong; also when the words themselves could not be parsed. */
export async function reportFailure(
  { io, env, signal }: CliContext,
  thrown: unknown,
  words: readonly string[],
): Promise<ExitCode> {
  const error = asFlywheelError(thrown, signal);
  const level = colorLevel(env, io.stderr.isTTY, words.includes('--no-color'));
  const style = await createStyle(level, io.stderr.columns);
  const debug = !['', '0'].includes(env['FLYWHEEL_DEBUG'] ?? '');
  reportError(io, error, { mode: modeOf(words, io.stdout.isTTY), style, debug });
  return error.exitCode;
}

/** The mode as the words say, parsed or not. */
function modeOf(words: readonly string[], stdoutIsTTY: boolean): OutputMode {
  const at = words.findIndex((word) => word === '--output' || word.startsWith('--output='));
  const output = at < 0 ? undefined : (words[at]?.split('=')[1] ?? words[at + 1]);
  const json = words.includes('--json');
  return outputMode({ json, ...(output === undefined ? {} : { output }) }, stdoutIsTTY);
}
