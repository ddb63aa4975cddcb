/** A small tree of words, in which one word is a command and leads to others as well. */
import { describe, expect, it } from 'vitest';
import { type CatalogueEntry, defineCommand } from '../../../src/cli/command.js';
import { executeRequest } from '../../../src/cli/execute-request.js';
import { completionScript, SHELLS } from '../../../src/cli/help/completion.js';
import { completionNodes } from '../../../src/cli/help/completion-table.js';
import { allCommands, helpPage, helpPages } from '../../../src/cli/help/pages.js';
import { runProgram } from '../../../src/cli/program.js';
import { isFlywheelError } from '../../../src/errors/flywheel-error.js';
import { testCli } from '../../support/in-process.js';

const VERSION = '0.0.0-test';
const texts = { output: ['{}'], errors: ['ERR_USAGE'], examples: ['flywheel mint'] } as const;

/** What ran, with what it was given. */
let ran: unknown[] = [];

const mint = defineCommand({
  ...texts,
  details: ['More about minting.'],
  configure: (command) =>
    command
      .argument('[note]', 'a note')
      .requiredOption('--amount <n>', 'how much')
      .option('--dry-run', 'do nothing'),
  run: async (_session, [note], { amount, dryRun }) => {
    ran.push(['mint', note, amount, dryRun]);
    return undefined;
  },
});

const mintList = defineCommand({
  ...texts,
  configure: (command) =>
    command.option('--limit <n>', 'how many').option('--dry-run', 'another option of the same name'),
  run: async (_session, _args, { limit, dryRun }) => {
    ran.push(['mint list', limit, dryRun]);
    return undefined;
  },
});

const CATALOGUE: readonly CatalogueEntry[] = [
  {
    name: 'mint',
    summary: 'Mint tokens.',
    load: async () => ({ command: mint }),
    entries: [
      { name: 'list', summary: 'List what was minted.', load: async () => ({ command: mintList }) },
      { name: 'undo', summary: 'Words below.', entries: [] },
    ],
  },
];

/** Runs words; what was run, or the error. */
async function run(...words: string[]): Promise<unknown> {
  const { context } = testCli();
  ran = [];
  let written = '';
  const options = {
    version: VERSION,
    width: 80,
    catalogue: CATALOGUE,
    write: (text: string) => {
      written += text;
    },
    execute: async (request: Parameters<typeof executeRequest>[1]) => {
      await executeRequest(context, request, words, async () => 0);
    },
  };
  try {
    await runProgram(options, words);
  } catch (error) {
    return isFlywheelError(error) ? error.message : error;
  }
  return written === '' ? ran : written;
}

describe('a word that is a command and leads to others', () => {
  it('is run by itself, with its own arguments and options', async () => {
    expect(await run('mint', '--amount', '5')).toEqual([['mint', undefined, '5', undefined]]);
    expect(await run('mint', 'gift', '--dry-run', '--amount', '5')).toEqual([['mint', 'gift', '5', true]]);
  });

  it('leads on, without asking for its own options and without taking those of the other', async () => {
    expect(await run('mint', 'list')).toEqual([['mint list', undefined, undefined]]);
    expect(await run('--quiet', 'mint', 'list', '--limit', '3', '--dry-run')).toEqual([
      ['mint list', '3', true],
    ]);
    expect(await run('mint', '--json', 'list')).toEqual([['mint list', undefined, undefined]]);
  });

  it('refuses options between the words, which would be nobody’s', async () => {
    expect(await run('mint', '--amount', '5', 'list')).toBe('`list` has to follow `flywheel mint` directly.');
    expect(ran).toEqual([]);
  });

  it('refuses what neither it nor the other knows', async () => {
    expect(await run('mint', '--amount', '5', '--limit', '3')).toMatch(/^Unknown option '--limit'/);
    expect(await run('mint', 'list', '--amount', '5')).toMatch(/^Unknown option '--amount'/);
    expect(await run('mint')).toMatch(/^Required option '--amount <n>'/);
  });

  it('has a help page with its options, its sections, and the words below it', async () => {
    const page = await helpPage(['mint'], VERSION, 80, CATALOGUE);
    expect(page).toMatch(/More about minting\.[\s\S]*--amount <n>[\s\S]*list +List what was[\s\S]*Output:/);
    expect(await run('mint', '--help', '--all')).toBe(page);
    expect(await run('mint', 'list', '--help', '--all')).toBe(
      await helpPage(['mint', 'list'], VERSION, 80, CATALOGUE),
    );
  });

  it('is a page of the documents, and so is each word below it', async () => {
    const pages = await helpPages(VERSION, 80, CATALOGUE);
    expect(pages.map(({ command }) => command).filter((command) => command.includes('mint'))).toEqual([
      'flywheel mint --help --all',
      'flywheel mint list --help --all',
      'flywheel mint undo --help --all',
    ]);
    expect(pages.find(({ command }) => command.includes('mint --help --all'))?.text).toBe(
      await helpPage(['mint'], VERSION, 80, CATALOGUE),
    );
  });

  it('is completed with the words below it and its own options', async () => {
    const nodes = completionNodes(await allCommands(VERSION, CATALOGUE));
    expect(nodes.map(({ path }) => path)).toEqual(['', 'mint', 'mint list', 'mint undo']);
    const flags = nodes.map((node) => node.flags.map(({ candidate: [flag] }) => flag));
    expect(nodes[1]?.words.map(([word]) => word)).toEqual(['list', 'undo']);
    expect(flags[0]).toEqual(expect.arrayContaining(['--json', '--help']));
    expect(flags[1]).toEqual(expect.arrayContaining(['--amount', '--dry-run']));
    expect(flags[2]).not.toContain('--amount');
    for (const shell of SHELLS) expect(completionScript(shell, nodes)).toContain("'mint list'");
  });
});
