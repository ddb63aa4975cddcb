/** Programs that sign, well and badly, as a user would write them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from './chain.js';

/** What is there for the code of a program: the key, how to sign a line, and the lines themselves. */
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

export interface TestProgram {
  readonly command: string;
  /** What it has written down, a line each; it begins with one of its start. */
  notes(): readonly string[];
  /** Ids of the runs so far. */
  pids(): readonly number[];
  /** Other code from the next run on. */
  become(code: string): void;
}

/** Signs every line until its input ends. */
export const LOOP = 'for await (const line of lines) console.log(sign(line));';
/** Signs one line and ends. */
export const ONCE = 'for await (const line of lines) { console.log(sign(line)); process.exit(0); }';

/** A program with a key. */
export function signingProgram(code: string, keypair: Uint8Array): TestProgram {
  const directory = temporaryDirectory();
  const [script, key, log] = ['sign.mjs', 'key.json', 'log'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(key, JSON.stringify([...keypair]), { mode: 0o600 });
  writeFileSync(log, '');
  const become = (next: string): void => writeFileSync(script, `${PRELUDE}\n${next}\n`);
  become(code);
  const notes = () => readFileSync(log, 'utf8').split('\n').filter(Boolean);
  return {
    command: [process.execPath, script, key, log].map((word) => `'${word}'`).join(' '),
    notes,
    pids: () => notes().flatMap((note) => (note.startsWith('start ') ? [Number(note.slice(6))] : [])),
    become,
  };
}
