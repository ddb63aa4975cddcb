/** Candidates for the last word of a command line, and the completion scripts of the shells. */
import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { commandPath } from './config/command-uses.js';
import { hasEffect } from './config/settings-table.js';
import type { CommandTree } from './program.js';

export type Candidate = readonly [word: string, description: string];

/** Where values come from; `null`: any text. */
type Values = readonly string[] | 'profiles' | '@files' | '@directories' | null;

const CLUSTERS = ['mainnet', 'devnet', 'testnet', 'localhost'];

/** By option, by argument of a command, or by placeholder. */
const VALUES: Readonly<Record<string, readonly Values[]>> = {
  '--profile': ['profiles'],
  '--rpc-url': [CLUSTERS],
  '--cluster': [CLUSTERS],
  '--commitment': [['confirmed', 'finalized']],
  '--by': [['day', 'week', 'month', 'all', 'day,type', 'week,type', 'month,type', 'all,type']],
  '--to': [['vault', 'burn-wallet', 'owner', 'operator']],
  '--expect': ['@files'],
  '--proof': ['@files'],
  '--signed-tx': ['@files'],
  'profile name': ['profiles'],
  file: ['@files'],
  pipelines: ['@files'],
  keypair: ['@files'],
  dir: ['@directories'],
  approval: ['@files'],
  batch: ['@files'],
};

const valuesAt = (choices: readonly string[] | undefined, key: string, name: string): readonly Values[] =>
  choices === undefined ? (VALUES[key] ?? VALUES[name] ?? [null]) : [choices];

/** `undefined` for an option without a value. */
function valuesOf({ long, flags, argChoices, required, optional }: Option): readonly Values[] | undefined {
  if (!required && !optional) return undefined;
  const [, placeholder = ''] = /[<[]([^>\]]+)[>\]]/.exec(flags) ?? [];
  return valuesAt(argChoices, long ?? '', placeholder);
}

const argumentsOf = (command: CommandUnknownOpts): readonly Values[] =>
  command.registeredArguments.flatMap((argument) => {
    const [group, name] = [command.parent?.parent ? command.parent : command, argument.name()];
    return valuesAt(argument.argChoices, `${group.name()} ${name}`, name);
  });

/** The first line, without tabs and backslashes: the scripts split at tabs, and shells read escapes. */
const described = (word: string, text: string): Candidate => [
  word,
  (text.split('\n')[0] ?? '').replace(/[\t\\]/g, ' ').trim(),
];

type Tree = Pick<CommandTree, 'root' | 'load'>;

const optionOf = (command: CommandUnknownOpts, root: CommandUnknownOpts, word: string): Option | undefined =>
  [...command.options, ...root.options].find(({ long, short }) => word === long || word === short);

async function reached({ root, load }: Tree, words: readonly string[]) {
  let command: CommandUnknownOpts = root;
  let open: Option | undefined;
  for (const word of words) {
    const isValue = open !== undefined;
    const option = isValue ? undefined : optionOf(command, root, word);
    open = option !== undefined && valuesOf(option) !== undefined ? option : undefined;
    const next = isValue ? undefined : command.commands.find((one) => one.name() === word);
    if (next === undefined) continue;
    await load(next);
    command = next;
  }
  return { command, open };
}

/** @param words - typed so far; the last one, perhaps empty, is completed */
export async function completions(
  tree: Tree,
  words: readonly string[],
  profiles: () => readonly Candidate[],
): Promise<readonly string[]> {
  // bash splits `--output=js` into three words.
  const typed = words.filter((word) => word !== '=');
  const current = words.at(-1) === '=' ? '' : (typed.pop() ?? '');
  const { command, open } = await reached(tree, typed);
  const [, name, value = current] = /^(--[\w-]+)=(.*)$/s.exec(current) ?? [];
  const option = name === undefined ? open : optionOf(command, tree.root, name);
  const candidates = (values: readonly Values[]): readonly Candidate[] =>
    values.flatMap((from): readonly Candidate[] => {
      if (from === null) return [];
      if (typeof from !== 'string') return from.map((word) => [word, '']);
      return from === 'profiles' ? profiles() : [[from, '']];
    });
  const isOption = option === undefined && value.startsWith('-');
  const found = isOption
    ? optionsOf(command, tree)
    : [
        ...(option === undefined ? await wordsAfter(command, typed, tree) : []),
        ...candidates(option === undefined ? argumentsOf(command) : (valuesOf(option) ?? [])),
      ];
  return found
    .filter(([word]) => word.startsWith('@') || word.startsWith(value))
    .map(([word, description]) => {
      if (word.startsWith('@')) return word;
      return `${name === undefined ? '' : `${name}=`}${word}${description === '' ? '' : `\t${description}`}`;
    });
}

/** Subcommands; after `help`, commands and topics. */
async function wordsAfter(
  command: CommandUnknownOpts,
  [first, ...words]: readonly string[],
  tree: Tree,
): Promise<readonly Candidate[]> {
  if (first !== 'help') return wordsOf(command);
  const topics = words.length === 0 ? Object.keys((await import('./help-topics.js')).TOPICS) : [];
  return [...wordsOf((await reached(tree, words)).command), ...topics.map((word): Candidate => [word, ''])];
}

const wordsOf = (command: CommandUnknownOpts): readonly Candidate[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .map((one) => described(one.name(), one.summary()));

function optionsOf(command: CommandUnknownOpts, { root }: Tree): readonly Candidate[] {
  const path = commandPath(command);
  const global = root.options.filter((option) => command === root || hasEffect(option, path));
  const all = command === root ? global : [...command.options, ...global];
  return [
    ...all.flatMap(({ long, description }) => (long == null ? [] : [described(long, description)])),
    ['--help', 'show help'],
  ];
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# flywheel completion for bash
_flywheel() {
  local line name kind current="\${COMP_WORDS[COMP_CWORD]}"
  [[ $current == '=' ]] && current=''
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      @files|@directories)
        compopt -o filenames 2>/dev/null
        [[ $line == @files ]] && kind=-f || kind=-d
        while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen "$kind" -- "$current") ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <(command flywheel __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
}
complete -F _flywheel flywheel
`,
  zsh: `#compdef flywheel
# flywheel completion for zsh
_flywheel() {
  local line tab=$'\\t'
  local -a found shown
  for line in "\${(@f)$(command flywheel __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)}"; do
    case "$line" in
      '') ;;
      @files) compset -P '*='; _files ;;
      @directories) compset -P '*='; _files -/ ;;
      *) found+=("\${line%%$tab*}"); shown+=("\${line/$tab/  -- }") ;;
    esac
  done
  if (( \${#found} )); then compadd -l -d shown -a found; fi
}
compdef _flywheel flywheel
`,
  fish: `# flywheel completion for fish
function __flywheel_complete
  set -l current (commandline -ct)
  set -l words (commandline -opc)
  set -l path (string replace -r '^--[^=]*=' '' -- "$current")
  for line in (command flywheel __complete -- $words[2..-1] "$current" 2>/dev/null </dev/null)
    switch "$line"
      case @files
        __fish_complete_path "$path"
      case @directories
        __fish_complete_directories "$path" ''
      case '*'
        printf '%s\\n' "$line"
    end
  end
end
complete -c flywheel -f -a '(__flywheel_complete)'
`,
};

export const completionScript = (shell: Shell): string => SCRIPTS[shell];
