/** Who works on a batch: one engine at a time, whatever it does to it. */
import type { WaitingForChain } from '../../contract/call.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { EngineDeps } from '../deps.js';
import { tellWritten } from '../events.js';
import { type Holding, leaseUntil, waitingHere } from '../lease.js';
import { isWorkedOn, waitsFor } from '../requests/requests.js';

export const isFinal = ({ status }: Pick<BatchRecord, 'status'>): boolean =>
  status === 'EXECUTED' || status === 'FAILED';

/** Nothing more of it can be executed, by whomever; of what only failed, a member can still execute the rest. */
export const isOver = ({ status, dateCancelled }: Pick<BatchRecord, 'status' | 'dateCancelled'>): boolean =>
  status === 'EXECUTED' || dateCancelled !== null;

/** The batch as it is now. */
export async function currentRecord(tx: StoreTransaction, batchId: string): Promise<BatchRecord> {
  const batch = await tx.batches.get(batchId);
  invariant(batch !== undefined, 'Batches are never removed.');
  return batch;
}

/**
 * Takes the batch, as it is now, for this engine.
 * @throws `ERR_BATCH_IN_PROGRESS` while another that may be alive has it.
 */
export async function claimBatch(
  deps: EngineDeps,
  tx: StoreTransaction,
  batchId: string,
): Promise<BatchRecord> {
  const batch = await currentRecord(tx, batchId);
  if (isWorkedOn(deps, tx, batch)) throw inProgress(batch.id, waitingHere(deps, batch.id));
  const claimed = { ...batch, instance: deps.instances.id, leaseUntilMs: leaseUntil(deps, tx, batch) };
  await tx.batches.claim(batch.id, claimed.instance, claimed.leaseUntilMs);
  if (batch.instance !== null)
    tellWritten(deps, tx, { operationId: batch.id, event: 'taken over', from: batch.instance });
  return claimed;
}

/** A batch that was just taken, and the request that asks for it, if that has a record. */
export const batchHolding = (
  { id, tokenId, leaseUntilMs: untilMs }: BatchRecord,
  requestId: string | null = null,
): Holding => ({
  tokenId,
  ids: requestId === null ? [id] : [id, requestId],
  untilMs,
  prolong: async (tx, instance, toMs) => {
    // The request may have its answer before all work is done.
    if (requestId !== null) await tx.requests.renew(requestId, instance, toMs);
    return tx.batches.renew(id, instance, toMs);
  },
  giveUp: async (tx, instance) => {
    await tx.batches.unclaim(id, instance);
    // A request that has no answer by now does not use its key up.
    if (requestId !== null && (await tx.requests.renew(requestId, instance, 0)))
      await tx.requests.remove(requestId);
  },
  lost: () => inProgress(id, undefined),
});

const inProgress = (id: string, waiting: WaitingForChain | undefined): FlywheelError =>
  new FlywheelError('ERR_BATCH_IN_PROGRESS', `Batch ${id} is being worked on${waitsFor(waiting)}.`, {
    retryAfterSeconds: 1,
  });
