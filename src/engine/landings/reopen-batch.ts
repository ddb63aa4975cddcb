/** Bundles of a batch that a fork has taken back: pending again, and the batch is where it was before them. */
import type { BatchRecord, WatchedLanding } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime } from '../../values/time.js';
import { currentRecord, isFinal, releaseBatch } from '../batches/batch-claim.js';
import { countUndone, holdWhileWaiting } from '../batches/holds.js';
import type { EngineDeps } from '../deps.js';
import { isWorkedOn } from '../lease.js';

type Undone = Extract<WatchedLanding, { kind: 'bundle' }>;

/** Leaves a batch alone that somebody works on. */
export async function reopenBatch(
  deps: EngineDeps,
  batchId: string,
  undone: readonly Undone[],
): Promise<void> {
  const [project] = undone;
  if (project === undefined) return;
  await deps.store.transaction(async (tx) => {
    const batch = await currentRecord(tx, batchId);
    const init = await tx.requests.get(batch.requestId);
    if (isWorkedOn(tx, batch) || (init?.status === 'running' && isWorkedOn(tx, init))) return;
    const watched = await tx.landings.waiting();
    // What another engine has taken up before, and has landed again, has done so in another slot.
    const still = undone.filter(({ bundleId, slot }) =>
      watched.some(
        (landing) => landing.kind === 'bundle' && landing.bundleId === bundleId && landing.slot === slot,
      ),
    );
    if (still.length === 0) return;
    await releaseBatch(tx, batch);
    await takeBack(tx, batch, still);
  }, project);
}

async function takeBack(tx: StoreTransaction, batch: BatchRecord, undone: readonly Undone[]): Promise<void> {
  for (const { bundleId } of undone) await tx.landings.reopenBundle(bundleId);
  const stored = await tx.bundles.ofBatch(batch.id);
  for (const { bundleId, phase, first, dateLanded } of undone) {
    if (phase !== 'EXECUTE') continue;
    const count = stored.find(({ id }) => id === bundleId)?.transactions.length ?? 0;
    await countUndone(tx, batch, { first, count }, Date.parse(dateLanded));
  }
  const isSetUp = !undone.some(({ phase }) => phase === 'SETUP');
  if (!isSetUp) await holdWhileWaiting(tx, batch);
  await takeBackStatus(tx, batch, undone, isSetUp);
  const rentPaid = isSetUp || batch.status === 'AVAILABLE_TO_QUEUE' ? 0n : batch.setupRentLamports;
  await tx.batches.addCost(batch.id, {
    feeLamports: -undone.reduce((sum, { feeLamports }) => sum + feeLamports, 0n),
    rentPaidLamports: -rentPaid,
    rentReclaimedLamports: batch.dateClosed === null ? 0n : -batch.cost.rentReclaimedLamports,
  });
}

async function takeBackStatus(
  tx: StoreTransaction,
  batch: BatchRecord,
  undone: readonly Undone[],
  isSetUp: boolean,
): Promise<void> {
  const date = isoTime(tx.nowMs);
  if (batch.dateClosed !== null) await tx.batches.setClosed(batch.id, null);
  if (!isSetUp) {
    if (batch.status !== 'AVAILABLE_TO_QUEUE') await tx.batches.reopen(batch.id, 'AVAILABLE_TO_QUEUE', date);
    await tx.requests.reopen(batch.requestId);
  } else if (isFinal(batch) && undone.some(({ phase }) => phase !== 'CLOSE' && phase !== 'CANCEL')) {
    await tx.batches.reopen(batch.id, 'FINALIZED', date);
  }
}
