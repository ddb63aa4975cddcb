/** `npm run bench [part …]`: every measurement as a ratio within this run; ends with 1 when one misses its target. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { benchApprovals } from './approvals.js';
import { benchBatch } from './batches.js';
import { benchBodies, benchDearEngine } from './bodies.js';
import { benchLargeLedger, benchManyBurns, benchOneBurn } from './burns.js';
import { benchCluster } from './cluster.js';
import { benchDisk } from './disk.js';
import { benchFiles } from './files.js';
import { benchHttp } from './http.js';
import { benchMixed } from './mixed.js';
import { benchStart } from './processes.js';
import { type BenchRatio, keeps } from './ratio.js';
import { benchRemote } from './remote.js';
import { benchReport } from './report.js';
import { benchScale } from './scale.js';
import { benchSquads } from './squads.js';

const bin = resolve('bin/flywheel.js');
const home = mkdtempSync(join(tmpdir(), 'flywheel-bench-'));
// What the machine needs to run node stays; what would change the program's settings, or have node itself read certificates, does not.
const env: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries({ ...process.env, HOME: home }).filter(
    ([name]) => !/^(FLYWHEEL|XDG)_|^NODE_EXTRA_CA_CERTS$/.test(name),
  ),
);

const PARTS: Readonly<Record<string, () => Promise<BenchRatio[]>>> = {
  start: () => benchStart(bin, env),
  remote: () => benchRemote(bin, env),
  burn: () => benchOneBurn(bin, env),
  burns: benchManyBurns,
  batch: () => benchBatch(bin, env),
  approve: () => benchApprovals(bin, env),
  ledger: () => benchLargeLedger(bin, env),
  squads: benchSquads,
  http: benchHttp,
  mixed: benchMixed,
  cluster: benchCluster,
  disk: benchDisk,
  files: () => benchFiles(bin, env),
  report: () => benchReport(bin, env),
  scale: benchScale,
  bodies: async () => [...(await benchBodies()), ...(await benchDearEngine())],
};

function print(measured: BenchRatio): void {
  const { name, ratio, target, atLeast, unit } = measured;
  const bound = `${atLeast === true ? 'at least' : 'at most'} ${target.toFixed(2)}`;
  const mark = keeps(measured) ? 'ok  ' : 'MISS';
  process.stdout.write(
    `${mark} ${ratio.toFixed(2).padStart(7)}${unit === undefined ? '' : ` ${unit}`} (${bound})  ${name}\n`,
  );
}

/** Parts that take minutes: only when named. */
const LONG: readonly string[] = ['files', 'mixed', 'report', 'scale'];

const wanted = process.argv.slice(2);
let missed = 0;
try {
  for (const [name, measure] of Object.entries(PARTS)) {
    if (wanted.length > 0 ? !wanted.includes(name) : LONG.includes(name)) continue;
    for (const measured of await measure()) {
      print(measured);
      if (!keeps(measured)) missed += 1;
    }
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
process.exitCode = missed === 0 ? 0 : 1;
