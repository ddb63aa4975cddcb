/** The help of commands as text, as `--help` and `flywheel help` print it. */
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { CatalogueEntry } from '../command.js';
import { buildTree, commandPath, loadAll } from '../program.js';
import { TOPICS, topicText } from './topics.js';

/** One page and the words that show it. */
export interface HelpPage {
  readonly command: string;
  readonly text: string;
}

/** The tree of words to be read, not to be run, and how to read the help of a command in it. */
function readableTree(version: string, width: number, catalogue?: readonly CatalogueEntry[]) {
  let text = '';
  const tree = buildTree({
    version,
    width,
    ...(catalogue === undefined ? {} : { catalogue }),
    write: (part) => {
      text += part;
    },
    execute: async () => undefined,
  });
  const textOf = (command: CommandUnknownOpts): string => {
    text = '';
    command.outputHelp();
    return text;
  };
  return { tree, textOf };
}

/** The help of a path of words; empty for the top. @throws `ERR_USAGE` for words that lead nowhere. */
export async function helpPage(
  path: readonly string[],
  version: string,
  width: number,
  catalogue?: readonly CatalogueEntry[],
): Promise<string> {
  const { tree, textOf } = readableTree(version, width, catalogue);
  let command: CommandUnknownOpts = tree.root;
  for (const word of path) {
    const next = command.commands.find((each) => each.name() === word);
    if (next === undefined) {
      const words = command.commands.map((each) => each.name()).join(', ');
      throw new FlywheelError('ERR_USAGE', `There is no help for ${JSON.stringify(path.join(' '))}.`, {
        hint: `Commands: ${words}. Topics: ${Object.keys(TOPICS).join(', ')}.`,
      });
    }
    await tree.load(next);
    command = next;
  }
  return textOf(command);
}

/** Every page: the top, all commands in the order of help, and the topics. */
export async function helpPages(
  version: string,
  width: number,
  catalogue?: readonly CatalogueEntry[],
): Promise<readonly HelpPage[]> {
  const { tree, textOf } = readableTree(version, width, catalogue);
  const commands = (await loadAll(tree)).filter((command) => !command.name().startsWith('__'));
  return [
    ...commands.map((command) => ({
      command: `${commandPath(command)} --help`,
      text: textOf(command),
    })),
    ...Object.keys(TOPICS).map((topic) => ({
      command: `flywheel help ${topic}`,
      text: topicText(topic, null) ?? '',
    })),
  ];
}
