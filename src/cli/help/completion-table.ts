/** What may follow the words of a command line, with a description of each, as the completion scripts hold it. */
import type { CommandUnknownOpts } from '@commander-js/extra-typings';

/** One word and what it means. */
export type Candidate = readonly [word: string, description: string];

/** Where a value comes from: words that are known, names that are looked up, files, or anything at all. */
export type Values =
  | { readonly from: 'words'; readonly words: readonly string[] }
  | { readonly from: 'profiles' | 'batches' | 'operations' | 'files' | 'directories' | 'anything' };

/** An option, and what its value is, if it takes one. */
export interface Flag {
  readonly candidate: Candidate;
  /** Every form in which it is typed. */
  readonly forms: readonly string[];
  readonly values: Values | null;
}

/** One node: what may follow these words. */
export interface TreeNode {
  /** `profile`; empty at the top. */
  readonly path: string;
  /** Words that may follow. */
  readonly words: readonly Candidate[];
  /** Its own options; those of the top may stand everywhere. */
  readonly flags: readonly Flag[];
  /** What its arguments are. */
  readonly values: readonly Values[];
}

const CLUSTERS = ['mainnet', 'devnet', 'testnet', 'localhost'];

/** By the name of an option without dashes. */
const BY_OPTION: Readonly<Record<string, Values>> = {
  profile: { from: 'profiles' },
  'rpc-url': { from: 'words', words: CLUSTERS },
  cluster: { from: 'words', words: CLUSTERS },
  commitment: { from: 'words', words: ['confirmed', 'finalized'] },
  'token-program': { from: 'words', words: ['token', 'token-2022'] },
  'token-generation': { from: 'words', words: ['v1', 'v2'] },
  by: {
    from: 'words',
    words: ['day', 'week', 'month', 'all', 'day,type', 'week,type', 'month,type', 'all,type'],
  },
  expect: { from: 'files' },
  proof: { from: 'files' },
  recipients: { from: 'files' },
  'signed-tx': { from: 'files' },
  faults: { from: 'files' },
};

/** By what stands between the brackets of an option or argument. */
const BY_PLACEHOLDER: Readonly<Record<string, Values>> = {
  file: { from: 'files' },
  pipelines: { from: 'files' },
  keypair: { from: 'files' },
  dir: { from: 'directories' },
  batchId: { from: 'batches' },
};

/** An argument may be two things. */
const ARGUMENTS: Readonly<Record<string, readonly Values[]>> = {
  approval: [{ from: 'batches' }, { from: 'files' }],
  batch: [{ from: 'batches' }, { from: 'files' }],
};

const pathOf = (command: CommandUnknownOpts): string[] =>
  command.parent === null ? [] : [...pathOf(command.parent), command.name()];

/** One line without what a shell or a terminal would take for more than text. */
const described = (text: string): string =>
  text
    .split('\n')[0]
    ?.replace(/[\t\\]/g, ' ')
    .trim() ?? '';

function flagsOf({ options }: CommandUnknownOpts): readonly Flag[] {
  return options.flatMap(({ long, short, flags, description, argChoices, required, optional }) => {
    if (long == null || long === '--version') return [];
    const [, placeholder = ''] = /[<[]([^>\]]+)[>\]]/.exec(flags) ?? [];
    const known = BY_OPTION[long.slice(2)] ?? BY_PLACEHOLDER[placeholder] ?? { from: 'anything' };
    const values: Values = argChoices === undefined ? known : { from: 'words', words: argChoices };
    return [
      {
        candidate: [long, described(description)],
        forms: short == null ? [long] : [long, short],
        values: required || optional ? values : null,
      },
    ];
  });
}

function argumentsOf(command: CommandUnknownOpts): readonly Values[] {
  const group = command.parent?.name();
  return command.registeredArguments.flatMap((argument) => {
    const name = argument.name();
    if (argument.argChoices !== undefined) return [];
    if (name === 'name' && group === 'profile' && command.name() !== 'add') return [{ from: 'profiles' }];
    if (name === 'id' && group === 'pending') return [{ from: 'operations' }];
    return ARGUMENTS[name] ?? [BY_PLACEHOLDER[name] ?? { from: 'anything' }];
  });
}

/** The nodes of commands, of which the first is the top. */
export function completionNodes(commands: readonly CommandUnknownOpts[]): readonly TreeNode[] {
  return commands.map((command) => ({
    path: pathOf(command).join(' '),
    words: [
      ...command.commands.map((below): Candidate => [below.name(), described(below.summary())]),
      ...command.registeredArguments.flatMap(({ argChoices, description }) =>
        (argChoices ?? []).map((choice): Candidate => [choice, described(description)]),
      ),
    ],
    flags: [
      ...flagsOf(command),
      ...(command.parent === null
        ? [{ candidate: ['--help', 'show help'] as const, forms: ['--help', '-h'], values: null }]
        : []),
    ],
    values: argumentsOf(command),
  }));
}
