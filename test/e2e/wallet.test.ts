/** A passphrase on a real terminal: it is never shown, and what it protects opens with it. */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateKeypair } from '../../src/chain/transaction/signer.js';
import { emptyDirectory } from '../support/spawn.js';

const PROGRAM = join(process.cwd(), 'bin/flywheel.js');
const PASSPHRASE = 'a long enough secret';
const PLAIN = `[${generateKeypair().join(',')}]\n`;

/** Types each answer when its question stands on the terminal; gives back all that the terminal showed. */
function typing(home: string, words: string, answers: readonly (readonly [string, string])[]) {
  const child = spawn('script', ['-qec', `'${process.execPath}' '${PROGRAM}' ${words}`, '/dev/null'], {
    cwd: home,
    env: { HOME: home, PATH: process.env['PATH'], TERM: 'xterm' },
  });
  const left = [...answers];
  let [text, read] = ['', 0];
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    const [next] = left;
    if (next === undefined || !text.slice(read).includes(next[0])) return;
    left.shift();
    read = text.length;
    child.stdin.write(next[1]);
  });
  return new Promise<{ exit: number | null; text: string }>((resolve) => {
    child.once('close', (exit) => resolve({ exit, text: text.replaceAll('\r\n', '\n') }));
  });
}

describe('a passphrase on a terminal', () => {
  it('is not shown, can be corrected, and opens what it closed', async () => {
    const home = emptyDirectory();
    writeFileSync(join(home, 'id.json'), PLAIN, { mode: 0o600 });
    const made = await typing(home, 'wallet encrypt id.json --out e.json', [
      ['New passphrase', `wrong\x15${PASSPHRASE}é\x7f\r`],
      ['once more', `${PASSPHRASE}\r`],
    ]);
    expect(made.exit).toBe(0);
    const opened = await typing(home, 'wallet decrypt e.json --out again.json', [
      ['Passphrase of e.json', `${PASSPHRASE}\r`],
    ]);
    expect(opened.exit).toBe(0);
    expect(readFileSync(join(home, 'again.json'), 'utf8')).toBe(PLAIN);
    for (const { text } of [made, opened]) expect(text).not.toMatch(/wrong|secret/);
  });

  it.each([
    ['Ctrl-C', '\x03'],
    ['the end of the input', '\x04'],
  ])('may be refused with %s, and nothing is written', async (_name, key) => {
    const home = emptyDirectory();
    writeFileSync(join(home, 'id.json'), PLAIN, { mode: 0o600 });
    const { exit, text } = await typing(home, 'wallet encrypt id.json --out e.json; stty -a', [
      ['New passphrase', key],
    ]);
    expect(text).not.toContain('Wrote');
    // The terminal shows again what is typed.
    expect({ exit, text }).toMatchObject({ exit: 0, text: expect.stringMatching(/[^-]echo\b/) });
  });

  it('comes from an open descriptor', async () => {
    const home = emptyDirectory();
    writeFileSync(join(home, 'id.json'), PLAIN, { mode: 0o600 });
    const line = (words: string) =>
      `FLYWHEEL_KEY_PASSPHRASE_FILE=<(printf %s '${PASSPHRASE}') '${process.execPath}' '${PROGRAM}' ${words}`;
    const child = spawn(
      'bash',
      [
        '-c',
        `${line('wallet encrypt id.json --out e.json')} && ${line('wallet decrypt e.json --out again.json')}`,
      ],
      {
        cwd: home,
        env: { HOME: home, PATH: process.env['PATH'] },
        stdio: 'ignore',
      },
    );
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
    expect(readFileSync(join(home, 'again.json'), 'utf8')).toBe(PLAIN);
  });
});
