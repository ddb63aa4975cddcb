/** The help that the build has written is the help that commands print, at every width, on terminals and in pipes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allCommands } from '../../src/cli/help/pages.js';
import { commandPath, runProgram } from '../../src/cli/program.js';
import { emptyDirectory, flywheel } from '../support/spawn.js';
import { onTerminal } from '../support/terminal.js';

const BIN = new URL('../../bin/flywheel.js', import.meta.url).pathname;
const HELP = new URL('../../dist/help', import.meta.url).pathname;
const PATHS = (await allCommands('0.0.0')).map((command) => commandPath(command).split(' '));

async function helpOf(path: readonly string[], width: number): Promise<string> {
  let text = '';
  const write = (part: string): void => {
    text += part;
  };
  await runProgram({ version: '0.0.0', width, write, execute: async () => undefined }, [
    ...path.slice(1),
    '--help',
  ]);
  return text;
}

describe('the help that the build has written', () => {
  it.each(['80', '100'])('is that of every command and of nothing else, %s columns wide', async (width) => {
    const written = readdirSync(join(HELP, width), { recursive: true, encoding: 'utf8' });
    const files = written.filter((file) => file.endsWith('.txt')).sort();
    expect(files).toEqual(PATHS.map((path) => `${path.join('/')}.txt`).sort());
    for (const path of PATHS) {
      const text = readFileSync(join(HELP, width, `${path.join('/')}.txt`), 'utf8');
      expect([path, text]).toEqual([path, await helpOf(path, Number(width))]);
    }
  });

  it('is printed into a pipe as the long way would, in ASCII where the locale asks for that', async () => {
    const home = emptyDirectory();
    const ready = await flywheel({ home }, 'local', 'init', '--help');
    expect(ready).toMatchObject({ exit: 0, stderr: '', stdout: await helpOf(['', 'local', 'init'], 80) });
    const plain = await flywheel({ home, env: { LC_ALL: 'C' } }, 'local', 'init', '--help');
    expect(plain.stdout).toBe(
      (await flywheel({ home, env: { LC_ALL: 'C' } }, '--no-color', 'local', 'init', '--help')).stdout,
    );
    expect(plain.stdout).not.toBe(ready.stdout);
    expect(readdirSync(home)).toEqual([]);
  });

  it.each([60, 80, 100, 140])('is as wide as a terminal of %s columns, up to 100', async (columns) => {
    const command = `stty cols ${columns}; '${process.execPath}' '${BIN}' local init -h`;
    const { status, text } = await onTerminal(emptyDirectory(), command, { TERM: 'xterm-256color' });
    expect([status, text.replaceAll('\r', '')]).toEqual([
      0,
      await helpOf(['', 'local', 'init'], Math.min(columns, 100)),
    ]);
  });

  it('is that of the command before where a word is none', async () => {
    const { exit, stdout } = await flywheel({ home: emptyDirectory() }, 'local', 'inti', '--help');
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: await helpOf(['', 'local'], 80) });
  });
});
