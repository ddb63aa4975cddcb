/** What a command is: words that commander parses, the rest of its help as data, and one function that runs it. */
import type { Command, OptionValues } from '@commander-js/extra-typings';
import type { Settings } from '../compose/settings.js';
import type { ExitCode } from '../errors/exit-codes.js';
import type { Use } from './config/settings-table.js';
import type { CliContext, LocalAdmin, OpenedService } from './context.js';
import type { Completed } from './help/completion.js';
import type { Style } from './output/color.js';
import type { Output } from './output/output.js';
import type { Columns } from './output/table.js';

/** What commander does not write of a command's help. */
export interface HelpTexts {
  /** Sentences below the summary. */
  readonly details?: readonly string[];
  /** The JSON that it prints, as a shape. */
  readonly output: readonly string[];
  /** The columns of its list, where it prints one: only then is there `--output csv`. */
  readonly csv?: Readonly<Record<string, unknown>>;
  /** Lines that can be run. */
  readonly examples: readonly string[];
  /** Which settings have an effect on it. @default those of a command that works with a service */
  readonly uses?: readonly Use[];
}

/** Everything that one command is. */
interface CommandDefinition<Args extends unknown[], Options extends OptionValues, Value, Item>
  extends HelpTexts {
  /** Declares arguments and options; what `run` gets is inferred from it. @default none */
  readonly configure?: (command: Command) => Command<Args, Options>;
  /** @returns what is printed through `view`; without a view the exit number, where it is not that of success. */
  readonly run: (session: Session, args: Args, options: Options) => Promise<Value>;
  /** What was returned, as people read it; elsewhere it is JSON. */
  readonly view?: (value: Value, style: Style, session: Session) => readonly string[];
  /** The items behind `csv`. @default all that was returned */
  readonly rows?: (value: Value) => readonly Item[];
  readonly csv?: Columns<Item>;
  /** @default success */
  readonly exit?: (value: Value) => ExitCode;
}

/** The exit number, where it is not that of success. */
type Outcome = Promise<ExitCode | undefined>;

/** The arguments that a `configure` declares. */
export type ArgsOf<Configure extends (command: Command) => { readonly processedArgs: unknown }> =
  ReturnType<Configure>['processedArgs'];

/** The options that a `configure` declares. */
export type OptionsOf<Configure extends (command: Command) => { opts(): unknown }> = ReturnType<
  ReturnType<Configure>['opts']
>;

/** A command whose words have been typed. */
export type Run = (session: Session) => Outcome;

/** A command that can be put into the tree; what its words are is its own affair. */
export interface CommandSpec {
  readonly help: HelpTexts;
  /** Declares its words on a command of the tree, and what happens when they have been typed. */
  mount(command: Command, execute: (run: Run) => Promise<void>): void;
}

/** A command from its definition. */
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

/** A word of the command line: a command, or one that leads to others. */
export interface CatalogueEntry {
  readonly name: string;
  readonly summary: string;
  /** The command; absent where the word only leads to others. */
  readonly load?: () => Promise<CommandSpec>;
  /** What may follow the word. */
  readonly entries?: readonly CatalogueEntry[];
  /** The heading that help has it under. */
  readonly task?: string;
  /** Is it for scripts, and not in help? */
  readonly isHidden?: true;
}

/** The command line itself, for the commands that are about it. */
export interface CommandLine {
  /** What may follow words that are being typed, the last of them perhaps not whole. */
  complete(words: readonly string[], names: Completed['names']): Promise<readonly string[]>;
  /** Runs words in a context to their end, as the shell would. */
  run(context: CliContext, words: readonly string[]): Promise<ExitCode>;
  /** The help of the command that the words name. @throws `ERR_USAGE` for words that lead nowhere. */
  help(words: readonly string[], width: number): Promise<string>;
}

/** What a running command works with. */
export interface Session {
  readonly context: CliContext;
  readonly settings: Settings;
  readonly output: Output;
  /** The words of the command line, to print a command that resumes. */
  readonly commandLine: readonly string[];
  readonly cli: CommandLine;
  /** Nothing is sent: whatever a service does not answer is done without. */
  readonly isDryRun?: boolean;
  /** The one service of this run, opened at the first call. */
  service(): Promise<OpenedService>;
  /** The flywheel of the data directory, opened at the first call. */
  local(): Promise<LocalAdmin>;
}
