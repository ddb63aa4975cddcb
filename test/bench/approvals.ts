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
import { type BenchRatio, medianOf } from './ratio.js';
import { timed } from './work.js';

const PIPELINES = 100;
const CHECKS = 21;
const WARM_UPS = 20;

/** Burns, and airdrops to recipients without a token account, in turn. */
const pipelines = (count: number): Pipeline[] =>
  Array.from({ length: count }, (_, index) => ({
    type: 'WATCH_AD',
    payload: JSON.stringify({ count, index }),
    actions: [
      index % 2 === 0
        ? { action: 'BURN', amount: 2 }
        : { action: 'AIRDROP', toAddress: address(Keypair.generate().publicKey.toBase58()), amount: 0.5 },
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
    const sources = pipelines(PIPELINES);
    const { value } = await engine.initBatch({ pipelines: sources }, call());
    const input: Parameters<typeof reviewBatch>[3] = {
      batchIndex: BigInt(value.batch.batchIndex),
      expectation: expectedPipelines(toSourcePipelines(sources)),
    };
    const name = `checking a batch of ${PIPELINES} pipelines, simulation included`;
    const check = () => reviewBatch(chain, { simulator: async () => simulator }, pins, input);
    const ratio = await medianOf(CHECKS, () => timed(check), WARM_UPS);
    return [{ name, ratio, target: 60, unit: 'ms' }];
  } finally {
    await destroy();
  }
}
