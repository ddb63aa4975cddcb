/** Every command with the words that lead to it, for completion and for the pages of help. */
import { type CatalogueEntry, isGroup, type OptionSpec } from '../command.js';
import { GLOBAL_OPTIONS } from '../config/global-options.js';

/** One node: what may follow these words. */
export interface TreeNode {
  /** `local keys`; empty at the top. */
  readonly path: string;
  /** Words that may follow. */
  readonly words: readonly string[];
  /** Long options that may follow. */
  readonly flags: readonly string[];
}

const longFlag = ({ flags }: OptionSpec): string => /--[a-z-]+/.exec(flags)?.[0] ?? flags;

const GLOBAL_FLAGS = [...GLOBAL_OPTIONS.map(longFlag), '--help'];

/** The paths of all commands, groups included, in the order of help. */
export function commandPaths(entries: readonly CatalogueEntry[], prefix: readonly string[] = []): string[][] {
  return entries.flatMap((entry) => {
    const path = [...prefix, entry.name];
    return isGroup(entry) ? [path, ...commandPaths(entry.entries, path)] : [path];
  });
}

async function nodes(entries: readonly CatalogueEntry[], path: readonly string[]): Promise<TreeNode[]> {
  const here: TreeNode = {
    path: path.join(' '),
    words: entries.map(({ name }) => name),
    flags: GLOBAL_FLAGS,
  };
  const below = await Promise.all(
    entries.map(async (entry): Promise<TreeNode[]> => {
      const at = [...path, entry.name];
      if (isGroup(entry)) return nodes(entry.entries, at);
      const { command } = await entry.load();
      const own = (command.options ?? []).map(longFlag);
      const words = command.arguments?.flatMap((argument) => argument.choices ?? []) ?? [];
      return [{ path: at.join(' '), words, flags: [...own, ...GLOBAL_FLAGS] }];
    }),
  );
  return [here, ...below.flat()];
}

/** The whole tree, the top first. */
export const commandTree = (catalogue: readonly CatalogueEntry[]): Promise<TreeNode[]> =>
  nodes(catalogue, []);
