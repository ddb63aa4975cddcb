/** Measures the check of a batch before signing, in a warm process. */
import { Keypair } from '@solana/web3.js';
import { multisigFacts, readTokenOnChain } from '../../src/approval/flywheel-facts.js';
import { readMultisigAccount } from '../../src/approval/read-batch.js';
import { createSimulator } from '../../src/chain/local/simulator.js';
import { expectedPipelines, reviewBatch } from '../../src/cli/batch/review.js';
import { toSourcePipelines } from '../../src/cli/input/pipelines-plan.js';
import type { Pipeline } from '../../src/contract/schemas/batch.js';
import { address } from '../../src/values/address.js';
import { openTestEngine } from '../support/engine.js';
import { type BenchRatio, median } from './ratio.js';

const PIPELINES = 100;
const CHECKS = 41;

/** Burns, and airdrops to recipients without a token account, in turn. */
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

export async function benchApprovals(): Promise<BenchRatio[]> {
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
    const input: Parameters<typeof reviewBatch>[3] = {
      batchIndex: BigInt(value.batch.batchIndex),
      expectation: expectedPipelines(toSourcePipelines(sources)),
    };
    const times: number[] = [];
    for (let count = 0; count < CHECKS; count += 1) {
      const start = performance.now();
      await reviewBatch(chain, { simulator: async () => simulator }, pins, input);
      times.push(performance.now() - start);
    }
    // The first half warms up the compiler.
    const ratio = median(times.slice(CHECKS >> 1));
    return [
      {
        name: `checking a batch of ${PIPELINES} pipelines, simulation included`,
        ratio,
        target: 30,
        unit: 'ms',
      },
    ];
  } finally {
    await destroy();
  }
}
