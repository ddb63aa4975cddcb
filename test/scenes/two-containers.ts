/**
 * Expected: of two equal commands at once over one data directory, in containers of their own or on machines without /proc, one burns
 * and the other waits for it and tells the same result (both end with 0, one burn).
 * Today neither sees the process of the other: one burns, and the other ends with 7 or 1, or tells a result that is not its own.
 *
 * Run by hand, as root, from the root: `node test/conformance/run-typescript.mjs test/scenes/two-containers.ts`.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { aPlace, burnedIn, expectSeen, type Place } from './scene.js';

const BIN = join(process.cwd(), 'bin/flywheel.js');
const ROUNDS = 5;

/** Ways to run a command where it cannot see the processes of others. */
const APART: Readonly<Record<string, readonly string[]>> = {
  'PID namespaces': ['unshare', '--pid', '--fork', '--mount-proc'],
  'no /proc': ['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs none /proc; exec "$@"', 'sh'],
};

interface Ended {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function start({ home, dataDir }: Place, apart: readonly string[], words: readonly string[]): Promise<Ended> {
  const [program = '', ...rest] = [...apart, process.execPath, BIN, ...words, '--json'];
  const child = spawn(program, rest, {
    cwd: home,
    env: { PATH: process.env['PATH'], HOME: home, FLYWHEEL_DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const parts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', (chunk: Buffer) => {
      parts[name] += chunk.toString();
    });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exit) => resolve({ exit, ...parts }));
  });
}

for (const [title, apart] of Object.entries(APART)) {
  for (let round = 1; round <= ROUNDS; round += 1) {
    const place = await aPlace();
    const file = join(place.home, 'burns.json');
    const burns = Array.from({ length: 200 }, (_, index) => ({
      ...{ type: 'WATCH_AD', proof: { index }, burnAmount: 1, persistOnchain: false },
    }));
    writeFileSync(file, JSON.stringify(burns));
    const proof = JSON.stringify({ order: 1 });
    for (const [words, tokens] of [
      [['burn', '--once', '--type', 'WATCH_AD', '--proof', proof, '--amount', '1'], 1],
      [['burn-batch', file], burns.length],
    ] as const) {
      const before = await burnedIn(place);
      const both = await Promise.all([start(place, apart, words), start(place, apart, words)]);
      const burned = (await burnedIn(place)) - before;
      const exits = both.map(({ exit }) => exit);
      const isSame = both[0]?.stdout === both[1]?.stdout;
      const errors = both.flatMap(({ exit, stderr }) => (exit === 0 ? [] : [stderr.trim().slice(-160)]));
      expectSeen(
        `${title}, ${words[0]}, round ${round}`,
        { exits, burned, isSame, errors },
        burned === tokens && isSame && exits.every((exit) => exit === 0),
      );
    }
  }
}
