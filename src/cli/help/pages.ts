/** The help of commands as text, exactly as `--help` prints it. */
import { EXIT } from '../../errors/exit-codes.js';
import { runProgram } from '../program.js';
import { commandPaths } from './command-tree.js';
import { TOPICS, topicText } from './topics.js';

/** One page and the words that show it. */
export interface HelpPage {
  readonly command: string;
  readonly text: string;
}

/** The help of a path of words; empty for the top. @throws `ERR_USAGE` for words that lead nowhere. */
export async function helpPage(path: readonly string[], version: string, width: number): Promise<string> {
  let text = '';
  const write = (part: string): void => {
    text += part;
  };
  await runProgram({ version, width, write, execute: async () => EXIT.done }, [...path, '--help']);
  return text;
}

/** Every page: the top, all commands in the order of help, and the topics. */
export async function helpPages(version: string, width: number): Promise<readonly HelpPage[]> {
  const pages: HelpPage[] = [];
  for (const path of [[], ...commandPaths()]) {
    pages.push({
      command: ['flywheel', ...path, '--help'].join(' '),
      text: await helpPage(path, version, width),
    });
  }
  for (const topic of Object.keys(TOPICS))
    pages.push({ command: `flywheel help ${topic}`, text: topicText(topic) ?? '' });
  return pages;
}
