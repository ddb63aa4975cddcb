/** What a running command works with, made from the context and the settings; services are opened at their first use. */
import type { CommandLine, Session } from './command.js';
import type { Settings } from './config/settings.js';
import type { CliContext, LocalAdmin, OpenedService } from './context.js';
import { colorLevel, createStyle } from './output/color.js';
import { createOutput } from './output/output.js';

/** A session that closes what it opened. */
export interface ClosableSession extends Session {
  close(): Promise<void>;
}

/** The session of one run. */
export async function createSession(
  context: CliContext,
  settings: Settings,
  words: { readonly commandLine: readonly string[]; readonly cli: CommandLine; readonly noColor: boolean },
): Promise<ClosableSession> {
  const { io, env } = context;
  const output = createOutput(io, {
    mode: settings.output,
    quiet: settings.quiet,
    verbose: settings.verbose,
    style: await createStyle(colorLevel(env, io.stdout.isTTY, words.noColor), io.stdout.columns),
    noticeStyle: await createStyle(colorLevel(env, io.stderr.isTTY, words.noColor), io.stderr.columns),
  });
  let service: Promise<OpenedService> | undefined;
  let local: Promise<LocalAdmin> | undefined;
  return {
    context,
    settings,
    output,
    commandLine: words.commandLine,
    cli: words.cli,
    service: () => {
      service ??= context.openService(settings);
      return service;
    },
    local: () => {
      local ??= context.openLocal(settings);
      return local;
    },
    close: async () => {
      // One that failed to open has nothing to close; its error went to the command already.
      for (const opened of [service, local]) await (await opened?.catch(() => undefined))?.close();
    },
  };
}
