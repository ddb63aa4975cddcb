/** Completion scripts for shells: what may follow the words that lead to each command. */
import type { CommandUnknownOpts } from '@commander-js/extra-typings';

/** One node: what may follow these words. */
export interface TreeNode {
  /** `local keys`; empty at the top. */
  readonly path: string;
  /** Words that may follow. */
  readonly words: readonly string[];
  /** Long options that may follow. */
  readonly flags: readonly string[];
}

const longFlags = ({ options }: CommandUnknownOpts): string[] =>
  options.flatMap(({ long }) => (long === undefined || long === '--version' ? [] : [long]));

const pathOf = (command: CommandUnknownOpts): string[] =>
  command.parent === null ? [] : [...pathOf(command.parent), command.name()];

/** The nodes of commands, of which the first is the top. */
export function completionNodes(commands: readonly CommandUnknownOpts[]): readonly TreeNode[] {
  const globals = [...commands.slice(0, 1).flatMap(longFlags), '--help'];
  return commands.map((command) => ({
    path: pathOf(command).join(' '),
    words: [
      ...command.commands.map((below) => below.name()),
      ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    ],
    flags: command.parent === null ? globals : [...longFlags(command), ...globals],
  }));
}

/** Shells that a script can be written for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Paths that lead on or are commands, as a `case` pattern of bash and zsh. */
const pathPattern = (nodes: readonly TreeNode[]): string =>
  nodes.flatMap(({ path }) => (path === '' ? [] : [`'${path}'`])).join('|');

const candidates = ({ words, flags }: TreeNode): string => [...words, ...flags].join(' ');

const caseLines = (nodes: readonly TreeNode[], line: (node: TreeNode) => string): string =>
  nodes.map((node) => `    '${node.path}') ${line(node)} ;;`).join('\n');

const bash = (nodes: readonly TreeNode[]): string => `# flywheel completion for bash
_flywheel() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path='' word next candidates=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="\${path:+$path }$word"
    case "$next" in ${pathPattern(nodes)}) path="$next" ;; esac
  done
  case "$path" in
${caseLines(nodes, (node) => `candidates='${candidates(node)}'`)}
  esac
  COMPREPLY=($(compgen -W "$candidates" -- "$current"))
}
complete -o default -F _flywheel flywheel
`;

const zsh = (nodes: readonly TreeNode[]): string => `#compdef flywheel
# flywheel completion for zsh
_flywheel() {
  local path_='' word next
  local -a candidates
  for word in "\${(@)words[2,CURRENT-1]}"; do
    next="\${path_:+$path_ }$word"
    case "$next" in ${pathPattern(nodes)}) path_="$next" ;; esac
  done
  case "$path_" in
${caseLines(nodes, (node) => `candidates=(${candidates(node)})`)}
  esac
  compadd -a candidates || _files
}
compdef _flywheel flywheel
`;

const fish = (nodes: readonly TreeNode[]): string => `# flywheel completion for fish
function __flywheel_path
  set -l path ''
  for word in (commandline -opc)[2..-1]
    set -l next (string trim "$path $word")
    if contains -- "$next" ${nodes.flatMap(({ path }) => (path === '' ? [] : [`'${path}'`])).join(' ')}
      set path $next
    end
  end
  echo $path
end
${nodes
  .flatMap(({ path, words, flags }) => [
    `complete -c flywheel -n 'test (__flywheel_path) = "${path}"' ${words.length > 0 ? '-f ' : ''}-a '${[...words, ...flags].join(' ')}'`,
  ])
  .join('\n')}
`;

/** The script for a shell. */
export function completionScript(shell: Shell, nodes: readonly TreeNode[]): string {
  if (shell === 'bash') return bash(nodes);
  return shell === 'zsh' ? zsh(nodes) : fish(nodes);
}
