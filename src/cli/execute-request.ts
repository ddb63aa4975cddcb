/** Runs the typed command with its settings and session, and closes everything that the session opened. */
import type { LocalAdmin } from '../compose/local-admin.js';
import type { Settings } from '../compose/settings.js';
import { EXIT, type ExitCode } from '../errors/exit-codes.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Session } from './command.js';
import { requireDataDirectory, resolveSettings } from './config/resolve.js';
import type { CliContext, OpenedService } from './context.js';
import { colorLevel, createStyle, isPlain } from './output/color.js';
import { createOutput } from './output/output.js';
import type { Request } from './program.js';
import { shownWords } from './shell-line.js';

interface ClosableSession extends Session {
  close(): Promise<void>;
}

async function createSession(
  context: CliContext,
  settings: Settings,
  more: Pick<Session, 'commandLine' | 'tree' | 'run'> & { readonly noColor: boolean },
): Promise<ClosableSession> {
  const { io, env } = context;
  const { noColor, ...rest } = more;
  const output = createOutput(io, {
    mode: settings.output,
    messages: settings.messages,
    quiet: settings.quiet,
    verbose: settings.verbose,
    style: await createStyle(colorLevel(env, io.stdout.isTTY, noColor), io.stdout.columns),
    plain: isPlain(env, io.stderr.isTTY),
    nowMs: () => context.clock.nowMs(),
    noticeStyle: await createStyle(colorLevel(env, io.stderr.isTTY, noColor), io.stderr.columns),
  });
  let service: Promise<OpenedService> | undefined;
  let local: Promise<LocalAdmin> | undefined;
  return {
    context,
    settings,
    output,
    ...rest,
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
    close: async () => {
      // A service that failed to open has nothing to close; its error has reached the command.
      for (const opened of [service, local]) await (await opened?.catch(() => undefined))?.close();
    },
  };
}

export async function executeRequest(
  context: CliContext,
  { run: runCommand, path, globals, tree }: Request,
  words: readonly string[],
  run: Session['run'],
): Promise<ExitCode> {
  // A signal during start-up ends the run here. Later signals reach the command, which stops at a safe point.
  if (context.signal.aborted) throw new FlywheelError('ERR_INTERRUPTED', 'Interrupted.');
  const settings = resolveSettings(context, globals);
  const commandLine = shownWords(words);
  const noColor = globals.color === false;
  const session = await createSession(context, settings, { commandLine, tree, run, noColor });
  session.output.progress.wait('working …');
  try {
    requireDataDirectory(path, settings);
    return (await runCommand(session)) || EXIT.done;
  } catch (thrown) {
    const { ofRevokedKey, withPlace } = await import('./hints.js');
    throw withPlace(await ofRevokedKey(thrown, session), settings);
  } finally {
    session.output.progress.clear();
    await session.close();
  }
}
