/**
 * Runs the program in this process with captured streams, much faster than a new process and with the same result. `LONG=1` uses
 * processes. Concurrent commands need a process each.
 */
import { readdirSync, readlinkSync } from 'node:fs';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import packageJson from '../../package.json' with { type: 'json' };
import type { CliContext } from '../../src/cli/context.js';
import { openWithJournal } from '../../src/cli/journal/open-service.js';
import { runCli } from '../../src/cli/program.js';
import { createOpeners } from '../../src/compose/context.js';
import { faultEnvironment } from './faults.js';
import { type ServedHome, serve } from './http-serve.js';
import { flywheel, type Spawned, type SpawnOptions, scriptWords } from './spawn.js';

const isLong = process.env['LONG'] === '1';
let runs = 0;

interface HereOptions extends SpawnOptions {
  /** Milliseconds by which its clock is ahead of the true time. @default 0 */
  readonly clockAheadMs?: number;
}

/** @param said - receives output as it is written. */
async function run(
  { home, cwd = home, env = {}, stdin = '', clockAheadMs = 0 }: HereOptions,
  words: readonly string[],
  said: { stdout: string; stderr: string },
  signal: AbortSignal,
): Promise<Spawned> {
  const stream = (name: keyof typeof said) => ({
    write: (text: string) => {
      said[name] += text;
    },
    flush: async () => null,
    ...{ isTTY: false, columns: 80, closed: false },
  });
  runs += 1;
  // Each run has its own identity in the journal, so a later run takes over the operations of an ended one.
  const self = `here-${runs}`;
  const ambient = {
    io: {
      stdin: {
        isTTY: false,
        async *chunks() {
          yield Buffer.from(stdin);
        },
      },
      ...{ stdout: stream('stdout'), stderr: stream('stderr') },
      prompt: async () => null,
    },
    env: { HOME: home, PATH: process.env['PATH'], TMPDIR: home, ...env },
    clock: { nowMs: () => Date.now() + clockAheadMs },
    ...{ cwd, home, signal, version: packageJson.version },
    ...{ platform: process.platform, nodeVersion: process.version },
    self,
    sleep: async (ms: number) => void (await setTimeout(ms, undefined, { signal })),
  };
  const openers = createOpeners(ambient);
  const context: CliContext = {
    ...ambient,
    ...openers,
    openService: (settings) => openWithJournal(ambient, settings, openers.openService),
  };
  const exit = await runCli(context, scriptWords(words));
  return { exit, signal: null, ...said };
}

/** Runs a command to its end. Options of Node itself need a real process. */
export function flywheelHere(options: HereOptions, ...words: string[]): Promise<Spawned> {
  const { clockAheadMs = 0, ...place } = options;
  if (!isLong && place.env?.['NODE_OPTIONS'] === undefined)
    return run(options, words, { stdout: '', stderr: '' }, new AbortController().signal);
  const ahead = clockAheadMs === 0 ? {} : faultEnvironment({ clockAheadMs }, '');
  return flywheel({ ...place, env: { ...place.env, ...ahead } }, ...words);
}

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** How many SQLite files of the directory this process has open; `null` where that is not known. */
function openIn(directory: string): number | null {
  if (process.platform !== 'linux') return null;
  const paths = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return paths.filter((path) => path.startsWith(directory) && /\.db(?:-wal)?$/.test(path)).length;
}

/**
 * Closes the SQLite files of a directory that commands in this process opened, before files are copied or replaced. Otherwise they
 * are closed at garbage collection, and a checkpoint then writes by name into whatever file is there.
 */
export async function letGo(directory: string): Promise<void> {
  // A server in this process keeps its files. Others may need more than one collection.
  for (let open = openIn(directory), vain = 0; open !== 0 && vain < 3; ) {
    collect();
    await setImmediate();
    const left = openIn(directory);
    vain = left === open ? vain + 1 : 0;
    open = left;
  }
}

export const besides = ({ home, dataDir }: ServedHome, ...words: string[]) =>
  flywheelHere({ home, env: { FLYWHEEL_DATA_DIR: dataDir } }, ...words);

export const remotely = ({ home, key }: ServedHome, url: string, ...words: string[]) =>
  flywheelHere({ home, env: { FLYWHEEL_API_KEY: key, FLYWHEEL_API_URL: url } }, ...words);

export async function serveHere(
  place: Parameters<typeof serve>[0],
  ...words: readonly string[]
): Promise<{ readonly url: string; end(signal: 'SIGTERM'): Promise<unknown> }> {
  if (isLong) return serve(place, ...words);
  const said = { stdout: '', stderr: '' };
  const stopped = new AbortController();
  const { home, dataDir, env } = place;
  const options = { home, env: { FLYWHEEL_DATA_DIR: dataDir, ...env } };
  const ended = run(options, ['serve', '--port', '0', ...words, '--json'], said, stopped.signal);
  while (!said.stdout.includes('\n'))
    if ((await Promise.race([ended, setTimeout(5)])) !== undefined)
      throw new TypeError(`serve ended: ${said.stderr}`);
  return {
    url: JSON.parse(said.stdout).url,
    end: () => {
      stopped.abort();
      return ended;
    },
  };
}
