/** The help of every command as `--help` prints it, made by the build for the widths that are asked for most. */

import { commandPath, runProgram } from '../program.js';
import { allCommands } from './pages.js';

/** Columns: of a pipe and of a plain terminal, and as wide as help gets. */
export const READY_WIDTHS = [80, 100] as const;

export interface ReadyPage {
  /** `80/flywheel/batch/init.txt` */
  readonly file: string;
  readonly text: string;
}

async function helpOf(path: readonly string[], version: string, width: number): Promise<string> {
  let text = '';
  const write = (part: string): void => {
    text += part;
  };
  await runProgram({ version, width, write, execute: async () => undefined }, [...path, '--help']);
  return text;
}

export async function readyPages(version: string): Promise<readonly ReadyPage[]> {
  const paths = (await allCommands(version)).map((command) => commandPath(command).split(' '));
  const pages = READY_WIDTHS.flatMap((width) =>
    paths.map(async (path) => ({
      file: `${width}/${path.join('/')}.txt`,
      text: await helpOf(path.slice(1), version, width),
    })),
  );
  return Promise.all(pages);
}
