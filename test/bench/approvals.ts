/**
 * Checking a batch before it is signed: the check itself, in a process that has checked one before, and the whole command over a
 * hundred pipelines beside the same over one.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Keypair } from '@solana/web3.js';
import { multisigFacts, readTokenOnChain } from '../../src/approval/flywheel-facts.js';
import { readMultisigAccount } from '../../src/approval/read-batch.js';
import { createSimulator } from '../../src/chain/local/simulator.js';
import { type ReviewInput, reviewBatch } from '../../src/cli/batch/review.js';
import { toSourcePipelines } from '../../src/cli/input/pipelines-plan.js';
import type { Pipeline } from '../../src/contract/schemas/batch.js';
import { address } from '../../src/values/address.js';
import { openTestEngine } from '../support/engine.js';
import { runNode } from './processes.js';
import { type BenchRatio, median } from './ratio.js';

const PIPELINES = 100;
const PAIRS = 15;
const CHECKS = 41;
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

/** What a service that has checked one takes for another: reading, decoding, comparing with the file, trying out. */
async function benchCheck(): Promise<BenchRatio> {
  const { engine, project, chain, destroy } = await openTestEngine();
  try {
    const { registration, call } = project;
    const simulator = createSimulator();
    const addresses = {
      multisig: address(registration.multisig),
      owner: project.owner.address,
      operator: address(registration.operator),
      vaultIndex: registration.vaultIndex,
      mint: address(registration.mintAddress),
    };
    const token = await readTokenOnChain(chain, addresses);
    const multisig = await readMultisigAccount(chain, addresses.multisig);
    const pins = { ...addresses, facts: { ...multisigFacts(multisig), ...token.facts } };
    const sources = pipelines(PIPELINES).map(
      (pipeline) => ({ ...pipeline, payload: JSON.stringify(pipeline.payload) }) as Pipeline,
    );
    const { value } = await engine.initBatch({ pipelines: sources }, call());
    const input: ReviewInput = {
      batchIndex: BigInt(value.batch.batchIndex),
      expectation: { pipelines: toSourcePipelines(sources) },
    };
    const times: number[] = [];
    for (let count = 0; count < CHECKS; count += 1) {
      const start = performance.now();
      await reviewBatch(chain, { simulator: async () => simulator }, pins, input);
      times.push(performance.now() - start);
    }
    return {
      name: `checking a batch of ${PIPELINES} pipelines, tried out too, in a process that has done so before`,
      // The first half compiles it.
      ratio: median(times.slice(CHECKS >> 1)),
      target: TARGET_MS,
      unit: 'ms',
    };
  } finally {
    await destroy();
  }
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
      await benchCheck(),
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
