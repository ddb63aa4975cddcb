/**
 * Builds the tree of words that one can type. Only names and summaries are known at first; a command's module is loaded
 * when it is the one that was typed.
 */
import { Command, CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { FlywheelError } from '../errors/flywheel-error.js';
import { CATALOGUE } from './catalogue.js';
import type { CatalogueEntry, CommandSpec, Run } from './command.js';
import { addGlobalOptions, type GlobalFlags } from './config/global-options.js';
import { helpSections } from './help/sections.js';
import { shortPage } from './help/short-page.js';

/** Words at the top of `flywheel --help`. */
const DESCRIPTION =
  'Burn and airdrop Solana tokens on proof of what users did, through a Squads v4 multisig, locally or against the API.';

const ROOT_NOTES = `
Run \`flywheel demo\` to see everything at work on this machine.
Topics: flywheel help environment | exit-codes | files | output`;

/** What a parsed command line asks for. */
export interface Request {
  readonly run: Run;
  /** The words that lead to the command. */
  readonly path: string;
  readonly globals: GlobalFlags;
}

export interface ProgramOptions {
  readonly version: string;
  /** Columns for help. */
  readonly width: number;
  /** Does help show everything? Else it fits a screen. */
  readonly all?: boolean;
  /** The words there are; those of `flywheel` unless given. */
  readonly catalogue?: readonly CatalogueEntry[];
  write(text: string): void;
  /** Runs what was asked for. */
  execute(request: Request): Promise<void>;
}

/** The tree, of which a part is loaded when it is needed. */
export interface CommandTree {
  readonly root: Command;
  /** Gives a command of the tree its own words, and names those that may follow. */
  load(command: CommandUnknownOpts): Promise<void>;
  /** The command that the words led to so far. */
  reached(): CommandUnknownOpts;
}

/** The tree of words; nothing beyond names and summaries is loaded until a command is typed. */
export function buildTree(options: ProgramOptions): CommandTree {
  /** Of the commands that are loaded. */
  const examples = new Map<CommandUnknownOpts, readonly string[]>();
  const root: Command = new Command('flywheel')
    .description(DESCRIPTION)
    .version(options.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help; with --all everything there is')
    .helpCommand(false)
    .configureHelp({
      showGlobalOptions: true,
      helpWidth: options.width,
      ...(options.all === true
        ? {}
        : {
            formatHelp: (command, helper) =>
              shortPage(command, helper, examples.get(command) ?? [], options.width),
          }),
      subcommandTerm: (command) => command.name(),
      // Those of the top only: a command between has options of its own, which are not for what follows it.
      visibleGlobalOptions: (command) => (command.parent === null ? [] : [...root.options]),
    })
    .configureOutput({ writeOut: options.write, writeErr: () => undefined, outputError: () => undefined })
    .exitOverride()
    .addHelpText('after', options.all === true ? ROOT_NOTES : '');
  const globals = addGlobalOptions(root);
  const execute = (path: string, run: Run): Promise<void> =>
    options.execute({ run, path, globals: globals.opts() });
  /** The entries of commands of which no more than name and summary is in the tree. */
  const unloaded = new Map<CommandUnknownOpts, readonly [Command, CatalogueEntry]>();
  let reached: CommandUnknownOpts = root;

  function addEntries(parent: Command, entries: readonly CatalogueEntry[]): void {
    for (const entry of entries) {
      const command: Command = parent.command(entry.name).helpCommand(false);
      command.summary(entry.summary).description(entry.summary);
      unloaded.set(command, [command, entry]);
    }
    parent.hook('preSubcommand', async (_parent, command) => {
      reached = command;
      await load(command, parent.args[1]);
    });
  }

  /** @param next - the word that follows, while words are parsed. */
  async function load(loading: CommandUnknownOpts, next?: string): Promise<void> {
    const found = unloaded.get(loading);
    if (found === undefined) return;
    unloaded.delete(loading);
    const [command, { load: loadSpec, entries = [] }] = found;
    const isOnTheWay = entries.some(({ name }) => name === next);
    // Commander would take the options of a command, and ask for them, on the way to one below it.
    if (loadSpec !== undefined && !isOnTheWay) {
      const spec = (await loadSpec()).command;
      addSpec(command, spec, execute, options.all === true);
      examples.set(command, spec.help.examples);
      command.hook('preSubcommand', (_command, below) => refuseDetour(below));
    }
    addEntries(command, entries);
  }

  addEntries(root, options.catalogue ?? CATALOGUE);
  return { root, load: (command) => load(command), reached: () => reached };
}

/** Gives a command its words and its help texts. */
function addSpec(
  command: Command,
  spec: CommandSpec,
  execute: (path: string, run: Run) => Promise<void>,
  all: boolean,
): void {
  const { details, csv } = spec.help;
  const path = commandPath(command);
  spec.mount(command, (run) =>
    execute(path, (session) => {
      if (session.output.mode !== 'csv' || csv !== undefined) return run(session);
      throw new FlywheelError('ERR_USAGE', `--output csv: \`${path}\` prints no list.`);
    }),
  );
  if (details !== undefined) command.description(`${command.description()}\n\n${details.join(' ')}`);
  if (all) command.addHelpText('after', `\n${helpSections(spec.help)}`);
}

function refuseDetour(command: CommandUnknownOpts): never {
  const { parent } = command;
  const before = parent === null ? '' : commandPath(parent);
  throw new FlywheelError('ERR_USAGE', `\`${command.name()}\` has to follow \`${before}\` directly.`, {
    hint: `Options go behind: ${commandPath(command)} [options]`,
  });
}

/** Every command of the tree with its words, in the order of help. */
export async function loadAll(
  tree: CommandTree,
  from: CommandUnknownOpts = tree.root,
): Promise<readonly CommandUnknownOpts[]> {
  await tree.load(from);
  const below = await Promise.all(from.commands.map((command) => loadAll(tree, command)));
  return [from, ...below.flat()];
}

/**
 * Parses words and runs the command they name; help and version count as done.
 * @throws `ERR_USAGE` for words that make no command, and whatever the command throws.
 */
export async function runProgram(options: ProgramOptions, words: readonly string[]): Promise<void> {
  const tree = buildTree({ all: words.includes('--all'), ...options });
  try {
    await tree.root.parseAsync([...words], { from: 'user' });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    if (thrown.code === 'commander.help') return missingWord(tree.reached());
    if (thrown.code === 'commander.missingMandatoryOptionValue')
      throw await missingOptions(tree, words, thrown);
    if (thrown.exitCode !== 0) throw usageError(thrown);
  }
}

/** Commander stops at the first option that is missing, also where one was only misspelt: that one is named, else all of them. */
async function missingOptions(
  { root, reached }: CommandTree,
  words: readonly string[],
  cause: CommanderError,
): Promise<FlywheelError> {
  const command = reached();
  const missing = command.options.filter(
    (option) => option.mandatory && command.getOptionValue(option.attributeName()) === undefined,
  );
  for (const option of missing) option.makeOptionMandatory(false);
  command.action(() => undefined);
  try {
    await root.parseAsync([...words], { from: 'user' });
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.code === 'commander.unknownOption')
      return usageError(thrown);
  }
  const flags = missing.map(({ flags }) => `'${flags}'`);
  const all = flags.length > 1 ? `s ${flags.slice(0, -1).join(', ')} and` : '';
  return new FlywheelError('ERR_USAGE', `Required option${all} ${flags.at(-1)} not specified.`, {
    hint: `\`${commandPath(command)} --help\` says what each takes.`,
    cause,
  });
}

/** No command was named: help at the top, an error after a word that leads to others. */
function missingWord(command: CommandUnknownOpts): void {
  if (command.parent === null) {
    command.outputHelp();
    return;
  }
  const words = command.commands.map((each) => each.name()).join(', ');
  throw new FlywheelError('ERR_USAGE', `A word is missing after \`${commandPath(command)}\`: ${words}.`, {
    hint: `\`${commandPath(command)} --help\` says what each does.`,
  });
}

const SUGGESTION = /\n?\((Did you mean [^)]*)\)/;

function usageError(error: CommanderError): FlywheelError {
  const text = error.message.replace(/^error: /, '');
  const message = text.replace(SUGGESTION, '').replace(/\.+$/, '').trim();
  return new FlywheelError('ERR_USAGE', `${message.charAt(0).toUpperCase()}${message.slice(1)}.`, {
    hint: SUGGESTION.exec(text)?.[1] ?? 'Add --help to the command to see how it is used.',
    cause: error,
  });
}

/** The words that lead to a command: `flywheel local keys list`. */
export function commandPath(command: CommandUnknownOpts): string {
  const parent = command.parent;
  return parent === null ? command.name() : `${commandPath(parent)} ${command.name()}`;
}
