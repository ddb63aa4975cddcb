/** Runs the built program as a process in an empty home; this file imports nothing of `src`. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Test files and programs run in the root; a bundled program lies elsewhere. */
const ROOT = process.cwd();
export const BIN = join(ROOT, 'bin/flywheel.js');

/** Path of the real Squads program from SQUADS_PROGRAM; an empty variable counts as unset. */
export const REAL_SQUADS = process.env['SQUADS_PROGRAM'] || undefined;

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
  /** Opened by the shell as standard input. */
  readonly stdinFile?: string;
}

export const CODE_CACHE = join(tmpdir(), 'flywheel-test-code');

/** Inherits only the path to programs. */
const environment = ({ home, env }: SpawnOptions): NodeJS.ProcessEnv => ({
  HOME: home,
  PATH: process.env['PATH'],
  TMPDIR: home,
  // Shared by all homes: compiling anew in each takes longer than the commands.
  XDG_CACHE_HOME: CODE_CACHE,
  ...env,
});

/** With SQUADS_PROGRAM=FILE every project that a test sets up, and all later commands, use the real program. */
function withSquadsProgram(words: readonly string[]): readonly string[] {
  const sets = words[0] === 'local' && words[1] === 'init';
  return sets && REAL_SQUADS !== undefined ? [...words, '--squads-program', resolve(REAL_SQUADS)] : words;
}

/** As in a script: errors on standard error are JSON too, unless an option says otherwise. */
export function asScript(words: readonly string[]): readonly string[] {
  if (words.some((word) => word === '--json' || word.startsWith('--output'))) return words;
  const end = words.indexOf('--');
  return end < 0 ? [...words, '--json'] : [...words.slice(0, end), '--json', ...words.slice(end)];
}

export const scriptWords = (words: readonly string[]): readonly string[] =>
  asScript(withSquadsProgram(words));

export function startFlywheel(options: SpawnOptions, words: readonly string[]): ChildProcess {
  mkdirSync(options.home, { recursive: true });
  return spawn(process.execPath, [BIN, ...scriptWords(words)], {
    cwd: options.cwd ?? options.home,
    env: environment(options),
    stdio: [options.stdinFile === undefined ? 'pipe' : openSync(options.stdinFile, 'r'), 'pipe', 'pipe'],
  });
}

export function ending(child: ChildProcess, stdin: string | Uint8Array = ''): Promise<Spawned> {
  const parts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.on('data', (chunk: Buffer) => {
      parts[name] += chunk.toString('utf8');
    });
  // A command that does not read may exit before everything is written.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(stdin);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exit, signal) => resolve({ exit, signal, ...parts }));
  });
}

export const flywheel = (options: SpawnOptions, ...words: string[]): Promise<Spawned> =>
  ending(startFlywheel(options, words), options.stdin);

export interface Problem {
  readonly error: string;
  readonly message: string;
  readonly hint?: string;
  readonly idempotencyKey?: string;
}

/** The error on stderr: its last line as JSON, or in text output the line with the message. */
export function problemOf({ stderr }: Pick<Spawned, 'stderr'>): Partial<Problem> {
  const last = stderr.trim().split('\n').at(-1) || '{}';
  if (last.startsWith('{')) return JSON.parse(last);
  const [, message = '', error = ''] = /^error: (.*) \((ERR_\w+)\)$/m.exec(stderr) ?? [];
  const [, hint = ''] = /^hint: (.*)$/m.exec(stderr) ?? [];
  return { error, message, hint };
}

/** A command line as a shell splits it. Words of these characters alone mean themselves, and starting a shell takes long. */
export function shellWords(line: string, home = ''): readonly string[] {
  if (/^flywheel(?: [\w@%+=:,./-]+)*$/.test(line)) return line.split(' ').slice(1);
  const { stdout } = spawnSync('bash', ['-c', `flywheel() { printf '%s\\0' "$@"; }; ${line}`], {
    ...{ encoding: 'utf8', env: { HOME: home, PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' } },
  });
  return stdout.split('\0').slice(0, -1);
}
