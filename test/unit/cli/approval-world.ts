/** Commands that read or approve the honest batch of the attacks. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipelineContent, pipelinesDigest, type SourcePipeline } from '../../../src/actions/pipelines.js';
import type { Pins } from '../../../src/approval/pins.js';
import type { AccountState } from '../../../src/chain/account.js';
import type { ChainReader } from '../../../src/chain/chain.js';
import { createSimulator } from '../../../src/chain/local/simulator.js';
import type { OpenedService } from '../../../src/cli/context.js';
import type { Service } from '../../../src/contract/service.js';
import { accountsOf, honestWorld, type World } from '../../attacks/world.js';
import { only } from '../../support/doubles.js';
import type { TestCli } from '../../support/in-process.js';
import { namedAddress, toWeb3 } from '../../support/oracle.js';
import { flywheel, pipelines as HONEST, instructionsOf } from '../batch-on-chain.js';

export const HONEST_PINS = honestWorld().pins as Pins;

export function chainIn(world: World): ChainReader {
  const accounts = accountsOf(world);
  return only<ChainReader>({
    getAccounts: async (addresses) =>
      addresses.map((address) => {
        const found = accounts.get(address);
        return found === undefined ? null : ({ ...found, executable: false } as object as AccountState);
      }),
    isBlockhashValid: async () => true,
    latestBlockhash: async () => ({ blockhash: namedAddress('newer'), lastValidBlockHeight: 1n }),
    history: async () => [],
  });
}

/** The honest world with a batch of these pipelines. */
export const worldOf = (pipelines: readonly SourcePipeline[]): World => ({
  ...honestWorld(),
  instructions: instructionsOf(pipelines).map((instructions) => instructions.map(toWeb3)),
});

/** This machine has approved another batch of the honest pipelines, of which this many were executed. */
export async function paidBefore(cli: TestCli, executed: number, isOver: boolean): Promise<void> {
  const journal = await cli.journal();
  const pipelines = HONEST.map((pipeline) => pipelineContent(pipeline, 6));
  const batch = { batchIndex: 3n, digest: pipelinesDigest(HONEST), batchId: 'earlier', profile: '' };
  journal.approvals.approve(
    { ...flywheel, ...batch, pipelines, own: [], newest: null },
    () => undefined,
    null,
  );
  journal.approvals.executed(flywheel, batch, executed, isOver);
  journal.close();
}

/** Shared: a run leaves no state in the machine. */
const simulator = createSimulator();

export const openedIn = (world: World): Partial<OpenedService> => ({
  kind: 'remote',
  chain: chainIn(world),
  // Approving calls no service.
  service: only<Service>({}),
  pins: world.pins as Pins,
  simulator: async () => simulator,
});

/** @returns the path of the approval file. */
export function approvalIn(home: string, world: World): string {
  const approval = join(home, 'approval.json');
  const proposalApproveTx = Buffer.from(world.wire).toString('base64');
  writeFileSync(approval, JSON.stringify({ batch: world.batch, proposalApproveTx }));
  return approval;
}
