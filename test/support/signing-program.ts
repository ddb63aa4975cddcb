/** External signing programs, correct and faulty, as a user writes them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { emptyDirectory } from './spawn.js';

/** Available to the code of a program: the key, a function that signs a line, and the lines. */
const PRELUDE = `
import { createPrivateKey, sign as ed25519 } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const [, , file, log] = process.argv;
const seed = Buffer.from(JSON.parse(readFileSync(file, 'utf8')).slice(0, 32));
const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
const sign = (line) => ed25519(null, Buffer.from(line, 'base64'), key).toString('base64');
const note = (text) => appendFileSync(log, text + '\\n');
const lines = createInterface({ input: process.stdin });
note('start ' + process.pid);
`;

export type TestProgram = ReturnType<typeof signingProgram>;

export const LOOP = 'for await (const line of lines) console.log(sign(line));';
export const ONCE = 'for await (const line of lines) { console.log(sign(line)); process.exit(0); }';

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

export function signingProgram(code: string, keypair: Uint8Array) {
  const directory = emptyDirectory();
  const [script, key, log] = ['sign.mjs', 'key.json', 'log'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(key, JSON.stringify([...keypair]), { mode: 0o600 });
  writeFileSync(log, '');
  const become = (next: string): void => writeFileSync(script, `${PRELUDE}\n${next}\n`);
  become(code);
  /** Lines that the program logged; each run begins with a start line. */
  const notes = () => readFileSync(log, 'utf8').split('\n').filter(Boolean);
  const pids = () => notes().flatMap((note) => (note.startsWith('start ') ? [Number(note.slice(6))] : []));
  return {
    command: [process.execPath, script, key, log].map((word) => `'${word}'`).join(' '),
    notes,
    pids,
    /** Resolves once every run has ended. */
    gone: async (): Promise<void> => {
      while (pids().some(isRunning)) await setTimeout(5);
    },
    become,
  };
}
