/** The help of a command as text, as `--help` and `flywheel help` print it. */
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { buildTree } from '../program.js';
import { TOPICS } from './topics.js';

/** The help of a path of words; empty for the top. @throws `ERR_USAGE` for words that lead nowhere. */
export async function helpPage(path: readonly string[], version: string, width: number): Promise<string> {
  let text = '';
  const write = (part: string): void => {
    text += part;
  };
  const tree = buildTree({ version, width, write, execute: async () => undefined });
  let command: CommandUnknownOpts = tree.root;
  for (const word of path) {
    const next = command.commands.find((each) => each.name() === word);
    if (next === undefined) {
      const words = command
        .createHelp()
        .visibleCommands(command)
        .map((each) => each.name())
        .join(', ');
      throw new FlywheelError('ERR_USAGE', `No help for ${JSON.stringify(path.join(' '))}.`, {
        hint: `Commands: ${words}. Topics: ${Object.keys(TOPICS).join(', ')}.`,
      });
    }
    await tree.load(next);
    command = next;
  }
  command.outputHelp();
  return text;
}
