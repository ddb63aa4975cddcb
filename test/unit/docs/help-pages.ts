/** The help that the program prints, page by page. */
import { CATALOGUE } from '../../../src/cli/catalogue.js';
import type { CatalogueEntry } from '../../../src/cli/command.js';
import { TOPICS, topicText } from '../../../src/cli/help-topics.js';
import { runProgram } from '../../../src/cli/program.js';

export interface HelpPage {
  readonly command: string;
  readonly text: string;
}

const pathsOf = (entries: readonly CatalogueEntry[], above: readonly string[] = []): readonly string[][] =>
  entries
    .filter(({ isHidden }) => isHidden !== true)
    .flatMap(({ name, entries: below = [] }) => [[...above, name], ...pathsOf(below, [...above, name])]);

async function printed(words: readonly string[], version: string, width: number): Promise<string> {
  let text = '';
  const write = (part: string): void => {
    text += part;
  };
  await runProgram({ version, width, write, execute: async () => undefined }, words);
  return text;
}

export async function helpPages(version: string, width: number): Promise<readonly HelpPage[]> {
  const pages: HelpPage[] = [];
  for (const path of [[], ...pathsOf(CATALOGUE)]) {
    const words = [...path, '--help'];
    pages.push({ command: ['flywheel', ...words].join(' '), text: await printed(words, version, width) });
  }
  for (const topic of Object.keys(TOPICS))
    pages.push({ command: `flywheel help ${topic}`, text: topicText(topic, null) ?? '' });
  return pages;
}
