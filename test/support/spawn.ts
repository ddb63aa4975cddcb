/** The built program as a process, in an empty home: nothing of src is known here. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { REAL_SQUADS } from './real-squads.js';

/** Tests and programs run in it; a bundled program lies elsewhere. */
const ROOT = process.cwd();
export const BIN = join(ROOT, 'bin/flywheel.js');

/** An empty directory that goes away with the machine's temporary files. */
export const emptyDirectory = (): string => mkdtempSync(join(tmpdir(), 'flywheel-test-'));

export interface Spawned {
  readonly exit: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface SpawnOptions {
  readonly home: string;
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  readonly stdin?: string | Uint8Array;
  /** A file that the shell opens as standard input. */
  readonly stdinFile?: string;
}

/** Where commands keep compiled code. */
export const CODE_CACHE = join(tmpdir(), 'flywheel-test-code');

/** The environment of a spawned command: nothing of this process but where programs are. */
const environment = ({ home, env }: SpawnOptions): NodeJS.ProcessEnv => ({
  HOME: home,
  PATH: process.env['PATH'],
  TMPDIR: home,
  // Compiled code is the same in every home; making it anew in each would cost more than the commands.
  XDG_CACHE_HOME: CODE_CACHE,
  ...env,
});

/** With SQUADS_PROGRAM=FILE every flywheel that a test sets up runs on the real program, and so does all that follows. */
function withSquadsProgram(words: readonly string[]): readonly string[] {
  const sets = words[0] === 'local' && words[1] === 'init';
  return sets && REAL_SQUADS !== undefined ? [...words, '--squads-program', resolve(REAL_SQUADS)] : words;
}

/** As a script has it: what is said on standard error is JSON as well, unless the words say otherwise. */
export function asScript(words: readonly string[]): readonly string[] {
  if (words.some((word) => word === '--json' || word.startsWith('--output'))) return words;
  const end = words.indexOf('--');
  return end < 0 ? [...words, '--json'] : [...words.slice(0, end), '--json', ...words.slice(end)];
}

/** Words of a test as the program is given them. */
export const scriptWords = (words: readonly string[]): readonly string[] =>
  asScript(withSquadsProgram(words));

/** Starts `bin/flywheel.js` of the present build. */
export function startFlywheel(options: SpawnOptions, words: readonly string[]): ChildProcess {
  mkdirSync(options.home, { recursive: true });
  return spawn(process.execPath, [BIN, ...scriptWords(words)], {
    cwd: options.cwd ?? options.home,
    env: environment(options),
    stdio: [options.stdinFile === undefined ? 'pipe' : openSync(options.stdinFile, 'r'), 'pipe', 'pipe'],
  });
}

/** Runs `bin/flywheel.js` to its end. */
export function flywheel(options: SpawnOptions, ...words: string[]): Promise<Spawned> {
  const child = startFlywheel(options, words);
  const parts = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk: Buffer) => {
    parts.stdout += chunk.toString('utf8');
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    parts.stderr += chunk.toString('utf8');
  });
  // A command that does not read may be gone before all is written.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(options.stdin ?? '');
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exit, signal) => resolve({ exit, signal, ...parts }));
  });
}
