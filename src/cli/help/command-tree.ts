/** What completion has to know of each command: what may follow the words that lead to it. */
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
