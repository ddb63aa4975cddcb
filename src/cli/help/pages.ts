/** The help of commands as text, exactly as `--help` prints it. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import { CATALOGUE } from '../catalogue.js';
import { type CatalogueEntry, isGroup } from '../command.js';
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
  checkWords(path);
  let text = '';
  const write = (part: string): void => {
    text += part;
  };
  await runProgram({ version, width, write, execute: async () => undefined }, [...path, '--help']);
  return text;
}

/** Commander shows the nearest page for words that it does not know; here they are an error. */
function checkWords(path: readonly string[]): void {
  let entries: readonly CatalogueEntry[] = CATALOGUE;
  for (const word of path) {
    const entry = entries.find(({ name }) => name === word);
    if (entry === undefined) {
      throw new FlywheelError('ERR_USAGE', `There is no help for ${JSON.stringify(path.join(' '))}.`, {
        hint: `Commands: ${entries.map(({ name }) => name).join(', ')}. Topics: ${Object.keys(TOPICS).join(', ')}.`,
      });
    }
    entries = isGroup(entry) ? entry.entries : [];
  }
}

/** Every page: the top, all commands in the order of help, and the topics. */
export async function helpPages(version: string, width: number): Promise<readonly HelpPage[]> {
  const pages: HelpPage[] = [];
  for (const path of [[], ...commandPaths(CATALOGUE)]) {
    pages.push({
      command: ['flywheel', ...path, '--help'].join(' '),
      text: await helpPage(path, version, width),
    });
  }
  for (const topic of Object.keys(TOPICS))
    pages.push({ command: `flywheel help ${topic}`, text: topicText(topic) ?? '' });
  return pages;
}
