/**
 * Expected: a process that was killed counts as gone at once, whether or not its parent has taken note of that: the same command goes on.
 * Today one that nobody reaped (a zombie) counts as alive: the same command waits for it for 600 s (`--wait`), and `--timeout` does not end that.
 *
 * Run by hand from the root: `node test/conformance/run-typescript.mjs test/scenes/killed-and-not-reaped.ts`.
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { flywheel } from '../support/spawn.js';
import { aPlace, burnedIn, expectSeen } from './scene.js';

const ROOT = process.cwd();
const WAIT_SECONDS = 20;

const place = await aPlace();
const file = join(place.home, 'burns.json');
const burns = Array.from({ length: 50 }, (_, index) => ({
  ...{ type: 'WATCH_AD', proof: { index }, burnAmount: 1, persistOnchain: false },
}));
writeFileSync(file, JSON.stringify(burns));

const FAULT_POINTS = join(ROOT, 'test/support/fault-points.cjs');

/** How many moments before and after commits such a command has, in a place of its own. */
async function pointsOfIt(): Promise<number> {
  const { home, dataDir } = await aPlace();
  const countFile = join(home, 'count');
  const env = {
    FLYWHEEL_DATA_DIR: dataDir,
    NODE_OPTIONS: `--require=${FAULT_POINTS}`,
    FAULT_COUNT_FILE: countFile,
  };
  await flywheel({ home, env }, 'burn-batch', file);
  return Number(readFileSync(countFile, 'utf8'));
}

// It is begun in the journal, and not over.
const point = (await pointsOfIt()) - 4;

// The shell starts the command and becomes a program that reaps nothing.
const parent = spawn(
  'sh',
  [
    '-c',
    '"$@" >/dev/null 2>&1 & echo $!; exec sleep 600',
    'sh',
    process.execPath,
    join(ROOT, 'bin/flywheel.js'),
    'burn-batch',
    file,
  ],
  {
    env: {
      ...{ PATH: process.env['PATH'], HOME: place.home, FLYWHEEL_DATA_DIR: place.dataDir },
      ...{ FAULT_SIGNAL: 'SIGKILL', FAULT_POINT: String(point) },
      NODE_OPTIONS: `--require=${FAULT_POINTS}`,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
const pid = await new Promise<string>((resolve) =>
  parent.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString().trim())),
);
const stateOf = (): string => /^State:\s+(\S)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';
while (stateOf() !== 'Z') await sleep(50);

const [pending] = await place.json<{ running: boolean }[]>('pending');
expectSeen('the killed process counts as running', pending?.running, pending?.running === false);
const startedMs = Date.now();
const { exit } = await place.run(
  'burn-batch',
  file,
  '--timeout',
  '4',
  '--wait',
  String(WAIT_SECONDS),
  '--json',
);
const seconds = Math.round((Date.now() - startedMs) / 1_000);
expectSeen('the same command, with --timeout 4', { exit, seconds }, exit === 0 && seconds < WAIT_SECONDS / 2);
parent.kill('SIGKILL');
await place.run('burn-batch', file);
expectSeen('burned once', await burnedIn(place), (await burnedIn(place)) === burns.length);
