/** Runs the command that was typed, with settings and a session of its own, and closes what it opened. */
import { EXIT, type ExitCode } from '../errors/exit-codes.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { CommandLine } from './command.js';
import { resolveSettings } from './config/resolve.js';
import type { CliContext } from './context.js';
import type { Request } from './program.js';
import { createSession } from './session.js';

/** What commands about the command line get to know of it. */
const commandLine = (context: CliContext, run: CommandLine['run']): CommandLine => ({
  run,
  commands: async () => {
    const { allCommands } = await import('./help/pages.js');
    return allCommands(context.version);
  },
  help: async (words, width) => {
    const { helpPage } = await import('./help/pages.js');
    return helpPage(words, context.version, width);
  },
});

/**
 * Executes a request.
 * @param run - runs other words of the same command line, for the demo.
 */
export async function executeRequest(
  context: CliContext,
  { run: runCommand, globals }: Request,
  words: readonly string[],
  run: CommandLine['run'],
): Promise<ExitCode> {
  // From here on a signal is waited for; before, it just ends the process.
  if (context.signal.aborted) throw new FlywheelError('ERR_INTERRUPTED', 'Interrupted.');
  const settings = resolveSettings(context, globals);
  const session = await createSession(context, settings, {
    commandLine: words,
    cli: commandLine(context, run),
    noColor: globals.color === false,
  });
  try {
    return (await runCommand(session)) ?? EXIT.done;
  } finally {
    session.output.progress.clear();
    await session.close();
  }
}
