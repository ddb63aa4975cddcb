/** Builds commander's tree of commands, parses and runs a command line, and prints help. A command's module is loaded only if needed. */
import { Command, CommanderError, type CommandUnknownOpts, type Option } from '@commander-js/extra-typings';
import { EXIT, type ExitCode } from '../errors/exit-codes.js';
import { FlywheelError, isFlywheelError, usageError } from '../errors/flywheel-error.js';
import { CATALOGUE } from './catalogue.js';
import type { CatalogueEntry, CommandSpec, Run } from './command.js';
import { commandPath } from './config/command-uses.js';
import type { GlobalFlags } from './config/resolve.js';
import { addGlobalOptions, globalFlags, requireUse } from './config/settings-table.js';
import { type CliContext, READER_GONE } from './context.js';
import { longFlag, readChoices } from './options.js';
import { indented, wrapText } from './output/table.js';

const DESCRIPTION =
  'Burn and airdrop Solana tokens on proof of user actions, on this machine or through an API.';

const ROOT_NOTES = [
  'Try it: flywheel demo',
  'More: flywheel help COMMAND | settings | exit-codes | files | output',
];

const NOTES = [
  'Options of all commands (--yes, --json, --profile …): flywheel help settings',
  'Exit codes: flywheel help exit-codes',
];

const MAX_WIDTH = 100;
/** Help texts also wrap in columns as narrow as this. */
const MIN_WRAPPED = 16;

export interface Request {
  readonly run: Run;
  readonly path: string;
  readonly globals: GlobalFlags;
  readonly tree: CommandTree;
}

interface ProgramOptions {
  readonly version: string;
  readonly width: number;
  write(text: string): void;
  execute(request: Request): Promise<void>;
}

export interface CommandTree {
  readonly root: Command;
  /** Loads a command's options, arguments and help, and names its subcommands. */
  load(command: CommandUnknownOpts): Promise<void>;
  /** The last command loaded. */
  reached(): CommandUnknownOpts;
}

function buildTree(options: ProgramOptions): CommandTree {
  const width = Math.min(options.width, MAX_WIDTH);
  const root: Command = new Command('flywheel')
    .description(DESCRIPTION)
    .version(options.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .configureHelp({
      helpWidth: width,
      minWidthToWrap: MIN_WRAPPED,
      subcommandTerm: (command) => command.name(),
    })
    .configureOutput({ writeOut: options.write, writeErr: () => undefined, outputError: () => undefined })
    .exitOverride()
    .addHelpText('after', ['', ...wrapped(ROOT_NOTES, width)].join('\n'));
  addGlobalOptions(root);
  for (const option of root.options)
    readChoices(option, longFlag(option.flags), 'See `flywheel help settings`.');
  const unloaded = new Map<CommandUnknownOpts, () => Promise<void>>();
  let reached: CommandUnknownOpts = root;
  const load = async (command: CommandUnknownOpts): Promise<void> => {
    reached = command;
    await unloaded.get(command)?.();
    unloaded.delete(command);
  };

  function addEntries(parent: Command, all: readonly CatalogueEntry[]): void {
    for (const { name, summary, task, isHidden = false, load: loadSpec, entries = [] } of all) {
      const command: Command = parent.command(name, { hidden: isHidden }).helpCommand(false);
      if (task !== undefined) command.helpGroup(task);
      command.summary(summary).description(summary);
      addEntries(command, entries);
      if (loadSpec !== undefined) unloaded.set(command, async () => addSpec(command, await loadSpec()));
    }
    parent.hook('preSubcommand', (_parent, command) => load(command));
  }

  function addSpec(command: Command, { help, mount }: CommandSpec): void {
    const { details, csv, output, examples } = help;
    const path = commandPath(command);
    mount(command, (run) => {
      requireAll(command, required);
      requireUse(root, path);
      const runInMode: Run = (session) => {
        if (session.output.mode !== 'csv' || csv !== undefined) return run(session);
        throw usageError(`--output csv needs a list, and \`${path}\` prints none.`);
      };
      return options.execute({ run: runInMode, path, globals: globalFlags(root), tree });
    });
    const hint = `See \`${commandPath(command)} --help\`.`;
    for (const option of command.options) readChoices(option, longFlag(option.flags), hint);
    for (const argument of command.registeredArguments) readChoices(argument, argument.name(), hint);
    // Commander would report the first missing option before a misspelt one, so `requireAll` checks them later.
    const required = command.options.filter(({ mandatory }) => mandatory);
    for (const option of required) {
      option.makeOptionMandatory(false);
      option.description += ' (required)';
    }
    if (details !== undefined) command.description(`${command.description()}\n\n${details.join(' ')}`);
    const columns = csv === undefined ? [] : [`csv: ${Object.keys(csv).join(', ')}`];
    const shapes = [...output, ...columns].flatMap((text) =>
      indented(/^ */.exec(`  ${text}`)?.[0] ?? '', text, width),
    );
    // Examples are for copying and never wrap.
    const shown = examples.length === 0 ? [] : ['', 'Examples:', ...examples.map((line) => `  $ ${line}`)];
    command.addHelpText(
      'after',
      ['', 'Output:', ...shapes, ...shown, '', ...wrapped(NOTES, width)].join('\n'),
    );
  }

  const tree: CommandTree = { root, load, reached: () => reached };
  addEntries(root, CATALOGUE);
  return tree;
}

const wrapped = (lines: readonly string[], width: number): readonly string[] =>
  lines.flatMap((line) => wrapText(line, width));

/** @throws `ERR_USAGE` with all missing options */
function requireAll(command: Command, required: readonly Option[]): void {
  const missing = required.filter((option) => command.getOptionValue(option.attributeName()) === undefined);
  if (missing.length === 0) return;
  const flags = missing.map(({ flags }) => `'${flags}'`);
  const all = flags.length > 1 ? `s ${flags.slice(0, -1).join(', ')} and` : '';
  throw usageError(
    `Missing required option${all} ${flags.at(-1)}.`,
    `See \`${commandPath(command)} --help\`.`,
  );
}

/**
 * Parses and runs a command line; help and version are successes.
 * @throws `ERR_USAGE` for an invalid command line, and every error of the command
 */
export async function runProgram(options: ProgramOptions, words: readonly string[]): Promise<void> {
  const tree = buildTree(options);
  try {
    await tree.root.parseAsync([...words], { from: 'user' });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    if (thrown.code === 'commander.help') return tree.reached().outputHelp();
    if (thrown.exitCode !== 0) throw parseError(thrown, tree.reached());
  }
}

const SUGGESTION = /\n?\((Did you mean [^)]*)\)/;

function parseError(error: CommanderError, reached: CommandUnknownOpts): FlywheelError {
  // The value of an unknown option, or an unknown command, may be a key.
  const text = error.message
    .replace(/^error: /, '')
    .replace(/=[^']*'/, "'")
    .replace(/[^\s']*:\/\/[^\s']*/g, '***');
  const message = text.replace(SUGGESTION, '').replace(/\.+$/, '').trim();
  return new FlywheelError('ERR_USAGE', `${message.charAt(0).toUpperCase()}${message.slice(1)}.`, {
    hint:
      SUGGESTION.exec(text)?.[1] ??
      (reached.parent === null
        ? 'Run `flywheel help` for a list of commands, or add --help to a command.'
        : `See \`${commandPath(reached)} --help\`.`),
    cause: error,
  });
}

/** Never throws, never exits the process. */
export async function runCli(context: CliContext, words: readonly string[]): Promise<ExitCode> {
  const { stdout } = context.io;
  let exit: ExitCode = EXIT.done;
  const report = async (thrown: unknown): Promise<ExitCode> =>
    (await import('./report-failure.js')).reportFailure(context, thrown, words);
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
    exit = await report(thrown);
    if (isFlywheelError(thrown, 'ERR_OUTPUT_FAILED')) return exit;
  }
  const reason = await stdout.flush();
  if (reason === null || reason === READER_GONE) return exit;
  const message = `Standard output could not be written: ${reason}.`;
  const failed = await report(new FlywheelError('ERR_OUTPUT_FAILED', message));
  return exit === EXIT.done ? failed : exit;
}
