/** Types the commands of the README as printed, on a terminal, in an empty home. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emptyDirectory, flywheel, startFlywheel } from '../support/spawn.js';
import { onTerminal } from './terminal.js';

const ROOT = process.cwd();
const PORT = '8787';

interface Block {
  readonly section: string;
  readonly language: string;
  readonly text: string;
  /** The file with which the preceding sentence begins. */
  readonly file: string | undefined;
}

function readBlocks(): readonly Block[] {
  const blocks: Block[] = [];
  let section = '';
  let before = '';
  const parts = readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(
    /^#+ (?<title>.+)$|^```(?<language>\w+)\n(?<text>[\s\S]*?)^```$|^(?<line>.+)$/gm,
  );
  for (const { groups: { title, language, text, line } = {} } of parts) {
    if (title !== undefined) section = title;
    if (language !== undefined && text !== undefined)
      blocks.push({ section, language, text, file: /^`([\w.]+)`/.exec(before)?.[1] });
    before = line ?? '';
  }
  return blocks;
}

const blocks = readBlocks();
const home = emptyDirectory();
const path = join(home, 'path');

/** Types a block on a terminal and answers yes to every question. */
const type = (text: string) =>
  onTerminal(home, `set -e\n${text}`, { PATH: `${path}:${process.env['PATH']}` }, 'y');

const burned = async (): Promise<string> =>
  JSON.parse((await flywheel({ home }, 'local', 'status')).stdout).burned;

const inSection = (title: string): readonly Block[] => blocks.filter(({ section }) => section === title);

async function follow(title: string): Promise<void> {
  for (const { language, text, file } of inSection(title)) {
    if (language === 'json' && file !== undefined) writeFileSync(join(home, file), text);
    if (language !== 'sh') continue;
    const { status, text: printed } = await type(text);
    expect({ status, printed }).toEqual({ status: 0, printed });
  }
}

beforeAll(() => {
  mkdirSync(path);
  writeFileSync(
    join(path, 'flywheel'),
    `#!/bin/sh\nexec '${process.execPath}' '${ROOT}/bin/flywheel.js' "$@"\n`,
    {
      mode: 0o755,
    },
  );
});

describe('the README', () => {
  let server: ChildProcess | undefined;
  afterAll(() => server?.kill());

  it('runs a first batch, and looks at it', async () => {
    await follow('A first batch');
    expect(await burned()).toBe('5');
  });

  it('runs a batch in its steps', async () => {
    await follow('Approve somewhere else');
    expect(await burned()).toBe('5.25');
  });

  it('burns without a batch, and proves it', async () => {
    await follow('Single burns');
    expect(await burned()).toBe('21');
  });

  it('does the same over HTTP', async () => {
    const [serve, ...rest] = inSection('Over HTTP').filter(({ language }) => language === 'sh');
    const words = serve?.text.replace(PORT, '0').replace(/#.*/, '').trim().split(' ') ?? [];
    expect(words[0]).toBe('flywheel');
    server = startFlywheel({ home }, words.slice(1));
    const line = await new Promise((listens) => server?.stdout?.once('data', listens));
    const { port } = new URL(JSON.parse(String(line)).url);
    for (const { text } of rest) {
      const { status, text: printed } = await type(text.replaceAll(PORT, port));
      expect({ status, printed }).toEqual({ status: 0, printed });
    }
    expect(rest.length).toBe(2);
    expect(await burned()).toBe('22');
  });

  it('sets a batch up as a library', async () => {
    const [example] = inSection('As a library');
    const data = join(home, '.local/share/flywheel');
    mkdirSync(join(home, 'node_modules'));
    symlinkSync(ROOT, join(home, 'node_modules/flywheel'));
    writeFileSync(join(home, 'library.mjs'), example?.text.replaceAll('/path/to/data', data) ?? '');
    const key = readFileSync(join(data, 'api-key'), 'utf8').trim();
    const child = spawn(process.execPath, ['library.mjs'], {
      cwd: home,
      env: { HOME: home, FLYWHEEL_API_KEY: key },
    });
    expect(await new Promise((ended) => child.once('close', ended))).toBe(0);
    const waiting = await flywheel({ home }, 'batch', 'list', '--status', 'FINALIZED');
    expect(JSON.parse(waiting.stdout)).toHaveLength(1);
  });

  it('shows every file and command of these sections as something that was run', () => {
    const run = ['A first batch', 'Approve somewhere else', 'Single burns', 'Over HTTP', 'As a library'];
    const left = blocks.filter(({ section }) => !run.includes(section));
    expect(left.map(({ section }) => section)).toEqual(['flywheel', 'How it fits together', 'Install']);
  });

  it('is short', () => {
    expect(Buffer.byteLength(readFileSync(join(ROOT, 'README.md')))).toBeLessThanOrEqual(12 * 1024);
  });
});
