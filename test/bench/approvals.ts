/** Checking a batch before it is signed: the whole command over a hundred pipelines, beside the same over one. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Keypair } from '@solana/web3.js';
import { runNode } from './processes.js';
import { type BenchRatio, median } from './ratio.js';

const PIPELINES = 100;
const PAIRS = 15;
const TARGET_MS = 20;

/** Burns, and airdrops to recipients who have no token account yet, in turns. */
const pipelines = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    type: 'WATCH_AD',
    payload: { count, index },
    actions: [
      index % 2 === 0
        ? { action: 'BURN', amount: 2 }
        : { action: 'AIRDROP', toAddress: Keypair.generate().publicKey.toBase58(), amount: 0.5 },
    ],
  }));

/** Sets a batch up. @returns the words that approve it. */
async function approving(
  flywheel: (...words: string[]) => Promise<unknown>,
  directory: string,
  count: number,
): Promise<readonly string[]> {
  const [file, approval] = [join(directory, `${count}.json`), join(directory, `${count}-approval.json`)];
  writeFileSync(file, JSON.stringify({ pipelines: pipelines(count) }));
  await flywheel('batch', 'init', file, '--out', approval);
  return ['batch', 'approve', approval, '--expect', file, '--yes', '--json'];
}

export async function benchApprovals(bin: string, env: NodeJS.ProcessEnv): Promise<BenchRatio[]> {
  const directory = mkdtempSync(join(tmpdir(), 'flywheel-bench-approvals-'));
  const dataDir = join(directory, 'data');
  const keypair = join(dataDir, 'owner.json');
  const own = { ...env, FLYWHEEL_DATA_DIR: dataDir, FLYWHEEL_KEYPAIR: keypair };
  const flywheel = (...words: readonly string[]) => runNode([bin, ...words], own);
  try {
    await flywheel('local', 'init');
    const many = await approving(flywheel, directory, PIPELINES);
    const one = await approving(flywheel, directory, 1);
    const [ofMany, ofOne]: [number[], number[]] = [[], []];
    for (let pair = 0; pair <= PAIRS; pair += 1) {
      const [a, b] = [await flywheel(...many), await flywheel(...one)];
      // The first pair fills the file cache, and the record of approvals.
      if (pair === 0) continue;
      ofMany.push(a.ms);
      ofOne.push(b.ms);
    }
    return [
      {
        name: `batch approve of ${PIPELINES} pipelines, tried out: beyond that of one`,
        ratio: median(ofMany) - median(ofOne),
        target: TARGET_MS,
        unit: 'ms',
      },
    ];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
