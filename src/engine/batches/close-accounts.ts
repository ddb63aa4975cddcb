/** After a batch is final, its accounts are closed and their rent goes back to the operator, once. */
import { SQUADS_PROGRAM } from '../../chain/programs.js';
import { decodeAccount, PROPOSAL } from '../../chain/squads/layouts/accounts.js';
import { proposalAddress } from '../../chain/squads/layouts/addresses.js';
import type { BatchRecord } from '../../store/records.js';
import { type EngineDeps, LEASE_MS } from '../deps.js';
import { setupRentLamports } from './funds.js';
import { intoBundles } from './phase.js';
import { runPhase } from './run-phase.js';
import { type BatchScene, closeTransactions } from './scene.js';

/** A final batch whose rent has not come back yet. */
export const needsClosing = ({ status, cost }: BatchRecord): boolean =>
  (status === 'EXECUTED' || status === 'FAILED') && cost.rentReclaimedLamports === 0n;

/**
 * A batch that failed halfway stays approved on chain, and the program closes nothing of it; one that was rejected or
 * cancelled is over.
 */
async function isOver(deps: EngineDeps, { flywheel }: BatchScene, batch: BatchRecord): Promise<boolean> {
  const { address } = proposalAddress(flywheel.multisig, batch.batchIndex);
  const [account] = await deps.chain.getAccounts([address]);
  const proposal = account?.owner === SQUADS_PROGRAM ? decodeAccount(PROPOSAL, account.data) : undefined;
  return ['Executed', 'Rejected', 'Cancelled'].includes(proposal?.status.kind ?? '');
}

/**
 * Closes what a final batch occupies, if it may be closed; the batch's cost then says how much came back. What is refused
 * is left as it is and tried again with the next execute.
 */
export async function closeAccounts(deps: EngineDeps, scene: BatchScene, batch: BatchRecord): Promise<void> {
  if (batch.status === 'FAILED' && !(await isOver(deps, scene, batch))) return;
  const stored = await deps.store.read((tx) => tx.bundles.ofBatch(batch.id));
  const phase = await runPhase(deps, {
    batchId: batch.id,
    phase: 'CLOSE',
    signer: scene.operator,
    drafts: intoBundles(closeTransactions(scene, batch.batchIndex, batch.pipelines.length)),
    stored: stored.filter((bundle) => bundle.phase === 'CLOSE'),
    renewLease: (tx) => tx.batches.claim(batch.id, deps.instances.id, deps.clock.nowMs() + LEASE_MS),
  });
  const rentReclaimedLamports = phase.failure === null ? setupRentLamports(batch.pipelines) : 0n;
  await deps.store.transaction(async (tx) => {
    await phase.settle(tx);
    await tx.batches.addCost(batch.id, { feeLamports: 0n, rentPaidLamports: 0n, rentReclaimedLamports });
  });
}
