/** `npm run bench [part …]`: every measurement as a ratio within this run; exit code 1 if one misses its target. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { benchApprovals } from './approvals.js';
import { benchBatch } from './batches.js';
import { benchBodies } from './bodies.js';
import { benchFiles, benchLargeStore, benchManyBurns, benchOneBurn } from './burns.js';
import { benchCluster } from './cluster.js';
import { benchDisk } from './disk.js';
import { benchMemory } from './memory.js';
import { benchMixed } from './mixed.js';
import { benchStart } from './processes.js';
import { type BenchRatio, keeps } from './ratio.js';
import { benchRemote } from './remote.js';

const bin = resolve('bin/flywheel.js');
const home = mkdtempSync(join(tmpdir(), 'flywheel-bench-'));
// Keeps what the machine needs to run Node; drops settings of the program, and variables that make Node read certificates.
const env: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries({ ...process.env, HOME: home }).filter(
    ([name]) => !/^(FLYWHEEL|XDG)_|^NODE_EXTRA_CA_CERTS$/.test(name),
  ),
);

const PARTS: Readonly<Record<string, () => Promise<readonly BenchRatio[]>>> = {
  start: () => benchStart(bin, env),
  remote: () => benchRemote(bin, env),
  burn: () => benchOneBurn(bin, env),
  burns: benchManyBurns,
  files: () => benchFiles(bin, env),
  batch: () => benchBatch(bin, env),
  approve: benchApprovals,
  store: () => benchLargeStore(bin, env),
  memory: benchMemory,
  mixed: benchMixed,
  cluster: benchCluster,
  disk: benchDisk,
  bodies: benchBodies,
};

function print(measured: BenchRatio): void {
  const { name, ratio, target, atLeast, unit } = measured;
  const bound = `${atLeast === true ? 'at least' : 'at most'} ${target.toFixed(2)}`;
  const mark = keeps(measured) ? 'ok  ' : 'MISS';
  process.stdout.write(
    `${mark} ${ratio.toFixed(2).padStart(7)}${unit === undefined ? '' : ` ${unit}`} (${bound})  ${name}\n`,
  );
}

const wanted = process.argv.slice(2);
let missed = 0;
try {
  for (const [name, measure] of Object.entries(PARTS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    for (const measured of await measure()) {
      print(measured);
      if (!keeps(measured)) missed += 1;
    }
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
process.exitCode = missed === 0 ? 0 : 1;
