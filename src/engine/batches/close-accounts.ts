/** After a batch has executed, its accounts are closed and their rent goes back to the operator, once. */
import { invariant } from '../../errors/flywheel-error.js';
import type { BatchRecord } from '../../store/records.js';
import { type EngineDeps, LEASE_MS } from '../deps.js';
import { setupRentLamports } from './funds.js';
import { intoBundles } from './phase.js';
import { runPhase } from './run-phase.js';
import { type BatchScene, closeTransactions } from './scene.js';

/** A batch that failed halfway stays approved on chain, and the program closes nothing of it. */
export const needsClosing = (batch: BatchRecord): boolean =>
  batch.status === 'EXECUTED' && batch.cost.rentReclaimedLamports === 0n;

/**
 * Closes what an executed batch occupies; the batch's cost then says how much came back. What is refused is left as it is
 * and tried again with the next execute.
 */
export async function closeAccounts(deps: EngineDeps, scene: BatchScene, batch: BatchRecord): Promise<void> {
  invariant(batch.batchIndex !== null, 'An executed batch has an index.');
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
