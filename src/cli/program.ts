/**
 * Builds the tree of words that one can type. Only names and summaries are known at first; a command's module is loaded
 * when it is the one that was typed.
 */
import { Command, CommanderError, Option } from 'commander';
import { FlywheelError } from '../errors/flywheel-error.js';
import { CATALOGUE } from './catalogue.js';
import {
  type CatalogueEntry,
  type CommandEntry,
  type CommandSpec,
  Invocation,
  isGroup,
  type OptionSpec,
} from './command.js';
import { GLOBAL_OPTIONS } from './config/global-options.js';
import type { GlobalFlags } from './config/resolve.js';
import { helpSections } from './help/sections.js';

/** Words at the top of `flywheel --help`. */
const DESCRIPTION =
  'Burn and airdrop Solana tokens on proof of what users did, through a Squads v4 multisig, locally or against the API.';

const ROOT_NOTES = `
Run \`flywheel demo\` to see the whole story on this machine.
Topics: flywheel help environment | exit-codes | files`;

/** What a parsed command line asks for. */
export interface Request {
  readonly spec: CommandSpec;
  readonly invocation: Invocation;
  readonly globals: GlobalFlags;
}

export interface ProgramOptions {
  readonly version: string;
  /** Columns for help. */
  readonly width: number;
  write(text: string): void;
  /** Runs what was asked for. */
  execute(request: Request): Promise<void>;
  /** Told of each word that leads on. */
  reached?(command: Command): void;
}

const collect = (value: string, previous: readonly string[] | undefined): readonly string[] => [
  ...(previous ?? []),
  value,
];

/** An option of ours as commander's. */
function toOption(spec: OptionSpec): Option {
  const option = new Option(spec.flags, spec.description);
  if (spec.choices !== undefined) option.choices([...spec.choices]);
  if (spec.default !== undefined) option.default(spec.default);
  if (spec.required === true) option.makeOptionMandatory();
  if (spec.repeats === true) option.argParser(collect);
  return option;
}

/** Gives a command its arguments, options and help texts. */
export function configureCommand(command: Command, spec: CommandSpec): Command {
  for (const argument of spec.arguments ?? []) {
    const added = command.createArgument(argument.syntax, argument.description);
    command.addArgument(argument.choices === undefined ? added : added.choices([...argument.choices]));
  }
  for (const option of spec.options ?? []) command.addOption(toOption(option));
  if (spec.details !== undefined)
    command.description(`${command.description()}\n\n${spec.details.join(' ')}`);
  return command.addHelpText('after', `\n${helpSections(spec)}`);
}

/** The whole tree; nothing beyond names and summaries is loaded until a command is typed. */
export function buildProgram(options: ProgramOptions): Command {
  const program = new Command('flywheel')
    .description(DESCRIPTION)
    .version(options.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true, helpWidth: options.width })
    .configureOutput({ writeOut: options.write, writeErr: () => undefined, outputError: () => undefined })
    .exitOverride()
    .addHelpText('after', ROOT_NOTES);
  for (const option of GLOBAL_OPTIONS) program.addOption(toOption(option));
  addEntries(program, CATALOGUE, options);
  return program;
}

/**
 * Parses words and runs the command they name; help and version count as done.
 * @throws `ERR_USAGE` for words that make no command, and whatever the command throws.
 */
export async function runProgram(options: ProgramOptions, words: readonly string[]): Promise<void> {
  let reached: Command | undefined;
  const program = buildProgram({
    ...options,
    reached: (command) => {
      reached = command;
    },
  });
  try {
    await program.parseAsync([...words], { from: 'user' });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    if (thrown.code === 'commander.help') return missingWord(reached ?? program, options);
    if (thrown.exitCode !== 0) throw usageError(thrown);
  }
}

function addEntries(parent: Command, entries: readonly CatalogueEntry[], options: ProgramOptions): void {
  const loaders = new Map<string, () => Promise<void>>();
  for (const entry of entries) {
    const command = parent.command(entry.name).description(entry.summary).helpCommand(false);
    loaders.set(entry.name, async () => {
      if (isGroup(entry)) addEntries(command, entry.entries, options);
      else await prepare(command, entry, options);
    });
  }
  parent.hook('preSubcommand', async (_parent, command) => {
    options.reached?.(command);
    await loaders.get(command.name())?.();
  });
}

/** No command was named: help at the top, an error after a word that leads to others. */
function missingWord(command: Command, options: ProgramOptions): void {
  if (command.parent === null) {
    options.write(`${command.helpInformation()}${ROOT_NOTES}\n`);
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

async function prepare(command: Command, entry: CommandEntry, options: ProgramOptions): Promise<void> {
  const { command: spec } = await entry.load();
  configureCommand(command, spec).action(async (...received: unknown[]) => {
    const argumentCount = spec.arguments?.length ?? 0;
    await options.execute({
      spec,
      invocation: new Invocation(received.slice(0, argumentCount), command.opts()),
      globals: command.optsWithGlobals(),
    });
  });
}

/** The words that lead to a command: `flywheel local keys list`. */
export function commandPath(command: Command): string {
  const parent = command.parent;
  return parent === null ? command.name() : `${commandPath(parent)} ${command.name()}`;
}
