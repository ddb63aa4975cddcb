/** A command: options and arguments for commander, the rest of its help as data, and the function that runs it. */
import type { Command, OptionValues } from '@commander-js/extra-typings';
import type { LocalAdmin } from '../compose/local-admin.js';
import type { Settings } from '../compose/settings.js';
import type { ExitCode } from '../errors/exit-codes.js';
import type { CliContext, OpenedService } from './context.js';
import type { Style } from './output/color.js';
import type { Output } from './output/output.js';
import type { Columns } from './output/table.js';
import type { CommandTree } from './program.js';

interface HelpTexts {
  readonly details?: readonly string[];
  /** Shape of the printed JSON. */
  readonly output: readonly string[];
  /** Columns of the printed list; a command without them refuses `--output csv`. */
  readonly csv?: Readonly<Record<string, unknown>>;
  readonly examples: readonly string[];
}

interface CommandDefinition<Args extends unknown[], Options extends OptionValues, Value, Item>
  extends HelpTexts {
  /** Declares arguments and options, and so the types of `args` and `options` of `run`. @default none */
  readonly configure?: (command: Command) => Command<Args, Options>;
  /** @returns the value for `view`; without a view, the exit code (`undefined` for success) */
  readonly run: (session: Session, args: Args, options: Options) => Promise<Value>;
  /** The value as text for people. The other output modes print the value itself. */
  readonly view?: (value: Value, style: Style, session: Session) => readonly string[];
  /** The items that `csv` prints. @default the returned value */
  readonly rows?: (value: Value) => readonly Item[];
  readonly csv?: Columns<Item>;
  /** @default success */
  readonly exit?: (value: Value) => ExitCode;
}

export type ArgsOf<Configure extends (command: Command) => { readonly processedArgs: unknown }> =
  ReturnType<Configure>['processedArgs'];

export type OptionsOf<Configure extends (command: Command) => { opts(): unknown }> = ReturnType<
  ReturnType<Configure>['opts']
>;

export type Run = (session: Session) => Promise<ExitCode | undefined>;

export interface CommandSpec {
  readonly help: HelpTexts;
  mount(command: Command, execute: (run: Run) => Promise<void>): void;
}

export function defineCommand<
  Args extends unknown[] = [],
  Options extends OptionValues = OptionValues,
  Value = unknown,
  Item = unknown,
>({
  configure = (command) => command as unknown as Command<Args, Options>,
  run,
  view,
  rows = (value) => value as readonly Item[],
  exit,
  ...help
}: CommandDefinition<Args, Options, Value, Item>): CommandSpec {
  return {
    help,
    mount: (command, execute) => {
      const configured = configure(command);
      configured.action(() =>
        execute(async (session) => {
          const value = await run(session, configured.processedArgs, configured.opts());
          if (view === undefined) return typeof value === 'number' ? (value as ExitCode) : undefined;
          const lines = (style: Style) => view(value, style, session);
          if (help.csv === undefined) session.output.result(value, lines);
          else await session.output.list(rows(value), help.csv, lines, value);
          return exit?.(value);
        }),
      );
    },
  };
}

export interface CatalogueEntry {
  readonly name: string;
  readonly summary: string;
  /** Absent for a group. */
  readonly load?: () => Promise<CommandSpec>;
  readonly entries?: readonly CatalogueEntry[];
  readonly task?: string;
  /** For scripts: not in help. */
  readonly isHidden?: true;
}

export interface Session {
  readonly context: CliContext;
  readonly settings: Settings;
  readonly output: Output;
  /** The typed words with secrets redacted; stored in the journal and printed by hints. */
  readonly commandLine: readonly string[];
  /** All commands, for help and completion. */
  readonly tree: CommandTree;
  /** Runs another command line. */
  run(context: CliContext, words: readonly string[]): Promise<ExitCode>;
  /** A dry run sends nothing, and continues without facts that the service does not give. */
  readonly isDryRun?: boolean;
  /** Opened at the first call. */
  service(): Promise<OpenedService>;
  local(): Promise<LocalAdmin>;
}
