/** Runs one command line: words in, exit code out. Modules that help and version do not need are loaded later. */
import { EXIT, type ExitCode } from '../errors/exit-codes.js';
import { type CliContext, READER_GONE } from './context.js';
import { runProgram } from './program.js';

/** Never throws, never exits the process. */
export async function runCli(context: CliContext, words: readonly string[]): Promise<ExitCode> {
  const { stdout } = context.io;
  let exit: ExitCode = EXIT.done;
  try {
    await runProgram(
      {
        version: context.version,
        width: stdout.columns,
        write: (text) => stdout.write(text),
        execute: async (request) => {
          const { executeRequest } = await import('./execute-request.js');
          exit = await executeRequest(context, request, words, runCli);
        },
      },
      words,
    );
  } catch (thrown) {
    const { isFlywheelError, reportFailure } = await failures();
    exit = await reportFailure(context, thrown, words);
    if (isFlywheelError(thrown, 'ERR_OUTPUT_FAILED')) return exit;
  }
  const reason = await stdout.flush();
  if (reason === null || reason === READER_GONE) return exit;
  const { FlywheelError, reportFailure } = await failures();
  const lost = new FlywheelError('ERR_OUTPUT_FAILED', `Standard output could not be written: ${reason}.`);
  const failed = await reportFailure(context, lost, words);
  return exit === EXIT.done ? failed : exit;
}

const failures = async () => ({
  ...(await import('./report-failure.js')),
  ...(await import('../errors/flywheel-error.js')),
});
