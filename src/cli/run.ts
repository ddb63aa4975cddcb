/** One run of the command line: words in, exit number out. What help and version do not need is loaded when it is needed. */
import { EXIT, type ExitCode } from '../errors/exit-codes.js';
import type { CliContext } from './context.js';
import { asciiText, drawingOf } from './output/drawing.js';
import { helpWidth } from './output/help-width.js';
import { runProgram } from './program.js';

/** Runs a command line to its end. Never throws, never exits. */
export async function runCli(context: CliContext, words: readonly string[]): Promise<ExitCode> {
  const { stdout } = context.io;
  const { ascii } = drawingOf(context.env, words.includes('--accessible'));
  let exit: ExitCode = EXIT.done;
  try {
    await runProgram(
      {
        version: context.version,
        width: helpWidth(stdout.columns),
        write: (text) => stdout.write(ascii ? asciiText(text) : text),
        execute: async (request) => {
          const { executeRequest } = await import('./execute-request.js');
          exit = await executeRequest(context, request, words, runCli);
        },
      },
      words,
    );
    return exit;
  } catch (thrown) {
    const { reportFailure } = await import('./report-failure.js');
    return reportFailure(context, thrown, words);
  }
}
