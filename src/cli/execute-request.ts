/** Runs the command that was typed, with settings and a session of its own, and closes what it opened. */
import type { Settings } from '../compose/settings.js';
import { EXIT, type ExitCode } from '../errors/exit-codes.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { CommandLine, Session } from './command.js';
import { requireDataDirectory, resolveSettings } from './config/resolve.js';
import type { CliContext, LocalAdmin, OpenedService } from './context.js';
import { colorLevel, createStyle, isPlain } from './output/color.js';
import { createOutput } from './output/output.js';
import { buildTree, helpPage, type Request } from './program.js';
import { shownWords } from './shell-line.js';

/** A session that closes what it opened. */
interface ClosableSession extends Session {
  /** What was thrown, with what only the opened service knows of it. */
  explained(thrown: unknown): Promise<unknown>;
  close(): Promise<void>;
}

/** The session of one run. */
async function createSession(
  context: CliContext,
  settings: Settings,
  words: {
    readonly commandLine: readonly string[];
    readonly cli: CommandLine;
    readonly noColor: boolean;
  },
): Promise<ClosableSession> {
  const { io, env } = context;
  const output = createOutput(io, {
    mode: settings.output,
    messages: settings.messages,
    quiet: settings.quiet,
    verbose: settings.verbose,
    style: await createStyle(colorLevel(env, io.stdout.isTTY, words.noColor), io.stdout.columns),
    plain: isPlain(env, io.stderr.isTTY),
    nowMs: () => context.clock.nowMs(),
    noticeStyle: await createStyle(colorLevel(env, io.stderr.isTTY, words.noColor), io.stderr.columns),
  });
  // Whoever asks: what moves on the terminal is taken away first.
  io.beforeQuestion(output.progress.clear);
  let service: Promise<OpenedService> | undefined;
  let local: Promise<LocalAdmin> | undefined;
  return {
    context,
    settings,
    output,
    commandLine: words.commandLine,
    cli: words.cli,
    service: () => {
      service ??= context.openService(settings).then((opened) => {
        output.linkTo(opened.explorer);
        return opened;
      });
      return service;
    },
    local: () => {
      local ??= context.openLocal(settings);
      return local;
    },
    explained: async (thrown) => {
      const { withFundsHint, withPlace } = await import('./hints.js');
      const opened = await service?.catch(() => undefined);
      if (opened === undefined) return withPlace(thrown, settings);
      return withPlace(withFundsHint(thrown, opened, settings), settings);
    },
    close: async () => {
      // One that failed to open has nothing to close; its error went to the command already.
      for (const opened of [service, local]) await (await opened?.catch(() => undefined))?.close();
    },
  };
}

/** What commands about the command line get to know of it. */
const commandLine = (context: CliContext, run: CommandLine['run']): CommandLine => ({
  run,
  complete: async (words, names) => {
    const { completions } = await import('./help/completion.js');
    const execute = async (): Promise<void> => undefined;
    const tree = buildTree({ version: context.version, width: 80, write: () => undefined, execute });
    return completions({ ...tree, names }, words);
  },
  help: (words, width) => helpPage(words, context.version, width),
});

/**
 * Executes a request.
 * @param run - runs other words of the same command line, for the demo.
 */
export async function executeRequest(
  context: CliContext,
  { run: runCommand, path, globals }: Request,
  words: readonly string[],
  run: CommandLine['run'],
): Promise<ExitCode> {
  // From here on a signal is waited for; before, it just ends the process.
  if (context.signal.aborted) throw new FlywheelError('ERR_INTERRUPTED', 'Interrupted.');
  const settings = resolveSettings(context, globals);
  const session = await createSession(context, settings, {
    commandLine: shownWords(words),
    cli: commandLine(context, run),
    noColor: globals.color === false,
  });
  session.output.progress.wait('working …');
  try {
    requireDataDirectory(path, settings);
    return (await runCommand(session)) || EXIT.done;
  } catch (thrown) {
    throw await session.explained(thrown);
  } finally {
    session.output.progress.clear();
    await session.close();
  }
}
