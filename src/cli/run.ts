/** One run of the command line: words in, exit number out. The one place that turns an error into a number. */
import { EXIT, type ExitCode } from '../errors/exit-codes.js';
import { FlywheelError, wrapUnknown } from '../errors/flywheel-error.js';
import { CATALOGUE } from './catalogue.js';
import type { CommandLine } from './command.js';
import { outputMode, resolveSettings } from './config/resolve.js';
import type { OutputMode } from './config/settings.js';
import type { CliContext } from './context.js';
import { colorLevel, createStyle } from './output/color.js';
import { reportError } from './output/error-report.js';
import { type ProgramOptions, type Request, runProgram } from './program.js';
import { createSession } from './session.js';

/** Widest help, in columns; narrower terminals get less. */
const MAX_HELP_WIDTH = 100;

/** Runs a command line to its end. Never throws, never exits. */
export async function runCli(context: CliContext, words: readonly string[]): Promise<ExitCode> {
  const noColor = words.includes('--no-color');
  let exit: ExitCode = EXIT.done;
  const program: ProgramOptions = {
    version: context.version,
    width: Math.min(context.io.stdout.columns, MAX_HELP_WIDTH),
    write: (text) => context.io.stdout.write(text),
    execute: async (request) => {
      exit = (await execute(context, request, words, noColor)) ?? EXIT.done;
      return exit;
    },
  };
  try {
    await runProgram(program, words);
    return exit;
  } catch (thrown) {
    const error = toFlywheelError(thrown, context.signal);
    const { io, env } = context;
    const style = await createStyle(colorLevel(env, io.stderr.isTTY, noColor), io.stderr.columns);
    const debug = env['FLYWHEEL_DEBUG'] !== undefined && !['', '0'].includes(env['FLYWHEEL_DEBUG']);
    reportError(io, error, { mode: modeOf(words, io.stdout.isTTY), style, debug });
    return error.exitCode;
  }
}

async function execute(
  context: CliContext,
  { spec, invocation, globals }: Request,
  words: readonly string[],
  noColor: boolean,
): Promise<ExitCode | undefined> {
  const settings = resolveSettings(context, globals);
  const session = await createSession(
    context,
    settings,
    { commandLine: words, cli: commandLine(context) },
    noColor,
  );
  try {
    const exit = await spec.run(session, invocation);
    session.output.progress.clear();
    return exit;
  } finally {
    session.output.progress.clear();
    await session.close();
  }
}

/** What commands about the command line get to know of it. */
const commandLine = (context: CliContext): CommandLine => ({
  catalogue: CATALOGUE,
  run: runCli,
  help: async (words, width) => {
    const { helpPage } = await import('./help/pages.js');
    return helpPage(words, context.version, width);
  },
});

/** The mode in which an error is told even when the words could not be parsed. */
function modeOf(words: readonly string[], stdoutIsTTY: boolean): OutputMode {
  const at = words.findIndex((word) => word === '--output' || word.startsWith('--output='));
  const output = at < 0 ? undefined : (words[at]?.split('=')[1] ?? words[at + 1]);
  return outputMode(
    { json: words.includes('--json'), ...(output === undefined ? {} : { output }) },
    stdoutIsTTY,
  );
}

/** What was thrown as an error of the house. */
function toFlywheelError(thrown: unknown, signal: AbortSignal): FlywheelError {
  if (signal.aborted && !(thrown instanceof FlywheelError)) {
    return new FlywheelError('ERR_INTERRUPTED', 'Interrupted.', {
      hint: 'What was sent goes on; run the same command again to learn its outcome.',
      cause: thrown,
    });
  }
  return wrapUnknown(thrown);
}
