/** After a batch is over, its accounts are closed and their rent goes back to the multisig's collector, once. */
import type { BatchHead, BatchRecord } from '../../store/records.js';
import { isoTime } from '../../values/time.js';
import type { EngineDeps } from '../deps.js';
import type { Lease } from '../lease.js';
import { type BatchContext, closeTransactions } from './batch-context.js';
import { type BatchState, readBatchState } from './on-chain.js';
import { endOf } from './phase.js';
import { runPhase } from './run-phase.js';

/** A final batch that may have left something on chain. */
export const needsClosing = ({ status, dateClosed }: BatchHead): boolean =>
  (status === 'EXECUTED' || status === 'FAILED') && dateClosed === null;

/**
 * May the program close it (squads-v4.md, section 7.12)? A batch that failed halfway stays approved on chain, and nothing of
 * it is closed.
 */
export function isCloseable({ proposal, multisig }: BatchState, { batchIndex }: BatchRecord): boolean {
  const kind = proposal?.status.kind;
  if (kind === 'Draft' || kind === 'Active') return batchIndex <= multisig.staleTransactionIndex;
  return kind === 'Rejected' || kind === 'Executed' || kind === 'Cancelled';
}

/**
 * Closes what a batch that is over occupies; its cost then says how much came back. Where the multisig has no rent collector
 * nothing can be closed, and the rent stays where it is.
 *
 * @returns why they stay open, without a full stop, where they do; `null` when they are closed.
 */
export async function closeAccounts(
  deps: EngineDeps,
  context: BatchContext,
  batch: BatchRecord,
  lease: Lease,
): Promise<string | null> {
  const found = await readBatchState(deps.chain, context.flywheel, batch);
  if (found.batch !== null && !isCloseable(found, batch))
    return `its proposal is ${found.proposal?.status.kind ?? 'gone'}`;
  const { rentCollector } = found.multisig;
  const stored = await deps.store.read((tx) => tx.bundles.ofBatch(batch.id, ['CLOSE']));
  const size = rentCollector === null ? null : (found.batch?.size ?? null);
  const phase = await runPhase(deps, {
    batchId: batch.id,
    tokenId: batch.tokenId,
    phase: 'CLOSE',
    signer: context.operator,
    transactions:
      size === null || rentCollector === null ? [] : closeTransactions(context, batch, size, rentCollector),
    // Some transactions may have been closed already, by a run that was cut off or by other tools: so these are new steps.
    offset: endOf(stored),
    stored,
    isOver: size === null,
    lease,
  });
  await lease.write(async (tx) => {
    await phase.settle(tx);
    if (phase.failure !== null) return;
    const rentReclaimedLamports = rentCollector === null ? 0n : batch.cost.rentPaidLamports;
    await tx.batches.addCost(batch.id, { feeLamports: 0n, rentPaidLamports: 0n, rentReclaimedLamports });
    await tx.batches.setClosed(batch.id, isoTime(tx.nowMs));
  });
  return phase.failure?.reason ?? null;
}
