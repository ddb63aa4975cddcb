/** What a command is: its words and options as data, and one function that runs it. Parsing the words is program.ts' matter. */
import type { ErrorCode } from '../errors/codes.js';
import type { ExitCode } from '../errors/exit-codes.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Settings } from './config/settings.js';
import type { CliContext, LocalDesk, OpenedService } from './context.js';
import type { Style } from './output/color.js';
import type { Output } from './output/output.js';

export interface ArgumentSpec {
  /** As commander writes it: `<file>` is required, `[file]` is not, `[words...]` takes many. */
  readonly syntax: string;
  readonly description: string;
  readonly choices?: readonly string[];
}

export interface OptionSpec {
  /** As commander writes it: `--amount <n>`. */
  readonly flags: string;
  readonly description: string;
  readonly required?: boolean;
  /** May be given several times; the values are collected. */
  readonly repeats?: boolean;
  readonly choices?: readonly string[];
  readonly default?: string;
}

/** Everything that one command is. */
export interface CommandSpec {
  readonly arguments?: readonly ArgumentSpec[];
  readonly options?: readonly OptionSpec[];
  /** Sentences below the summary. */
  readonly details?: readonly string[];
  /** The JSON that it prints, as a shape. */
  readonly output: readonly string[];
  /** Codes a user is likely to meet; their exit numbers are looked up. */
  readonly errors: readonly ErrorCode[];
  /** Lines that can be run. */
  readonly examples: readonly string[];
  run(session: Session, invocation: Invocation): Promise<ExitCode | undefined>;
}

/** Arguments and options of one run, as typed. */
export class Invocation {
  readonly #arguments: readonly unknown[];
  readonly #options: Readonly<Record<string, unknown>>;

  constructor(args: readonly unknown[], options: Readonly<Record<string, unknown>>) {
    this.#arguments = args;
    this.#options = options;
  }

  /** The argument at a place, or `undefined` when it was not given. */
  argument(at: number): string | undefined {
    const value = this.#arguments[at];
    return typeof value === 'string' ? value : undefined;
  }

  /** An argument that the command's syntax requires. */
  requiredArgument(at: number): string {
    const value = this.argument(at);
    if (value === undefined) throw new FlywheelError('ERR_USAGE', `Argument ${at + 1} is missing.`);
    return value;
  }

  /** The words of a variadic argument. */
  words(at: number): readonly string[] {
    const value = this.#arguments[at];
    return Array.isArray(value) ? value.map(String) : [];
  }

  /** The value of an option, or `undefined`; names are in camel case. */
  option(name: string): string | undefined {
    const value = this.#options[name];
    return typeof value === 'string' ? value : undefined;
  }

  /** An option that the command cannot do without. */
  requiredOption(name: string): string {
    const value = this.option(name);
    if (value === undefined) throw new FlywheelError('ERR_USAGE', `The option --${kebab(name)} is missing.`);
    return value;
  }

  /** Was the switch given? */
  flag(name: string): boolean {
    return this.#options[name] === true;
  }

  /** The values of an option that repeats. */
  list(name: string): readonly string[] {
    const value = this.#options[name];
    return Array.isArray(value) ? value.map(String) : [];
  }
}

const kebab = (name: string): string => name.replace(/[A-Z]/g, (char) => `-${char.toLowerCase()}`);

/** One command, or a word that leads to others. */
export type CatalogueEntry = CommandEntry | GroupEntry;

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<{ readonly command: CommandSpec }>;
}

export interface GroupEntry {
  readonly name: string;
  readonly summary: string;
  readonly entries: readonly CatalogueEntry[];
}

/** Does the word lead to other commands? */
export const isGroup = (entry: CatalogueEntry): entry is GroupEntry => 'entries' in entry;

/** The command line itself, for the commands that are about it. */
export interface CommandLine {
  readonly catalogue: readonly CatalogueEntry[];
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
  /** The one service of this run, opened at the first call. */
  service(): Promise<OpenedService>;
  /** The one desk of this run, opened at the first call. */
  desk(): Promise<LocalDesk>;
}

/** A command as its three steps; the value goes to people through `view`, else as JSON. */
export function inSteps<Input, Value>(steps: {
  readonly parse: (invocation: Invocation, session: Session) => Input | Promise<Input>;
  readonly run: (session: Session, input: Input) => Promise<Value>;
  readonly view: (value: Value, style: Style) => readonly string[];
}): CommandSpec['run'] {
  return async (session, invocation) => {
    const input = await steps.parse(invocation, session);
    const value = await steps.run(session, input);
    session.output.result(value, (style) => steps.view(value, style));
    return undefined;
  };
}
