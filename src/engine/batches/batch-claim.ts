/** Who works on a batch: one engine at a time, whatever it does to it. */
import type { WaitingForChain } from '../../contract/call.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchRecord, RequestRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { EngineDeps } from '../deps.js';
import { tellWritten } from '../events.js';
import { type Holding, holderOf, isWorkedOn, newLease } from '../lease.js';
import { waitsFor } from '../requests.js';

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
 * @throws `ERR_BATCH_IN_PROGRESS` while somebody is at it.
 */
export async function claimBatch(
  deps: EngineDeps,
  tx: StoreTransaction,
  batchId: string,
): Promise<BatchRecord> {
  const batch = await currentRecord(tx, batchId);
  if (isWorkedOn(tx, batch)) throw inProgress(batch.id, deps.leases.waitingFor(batch.id));
  const lease = newLease(deps, tx);
  await tx.batches.claim(batch.id, lease);
  if (batch.holder !== null)
    tellWritten(deps, tx, { operationId: batch.id, event: 'taken over', from: batch.holder });
  return { ...batch, ...lease };
}

/** Whoever held it, and stood still until its lease was over, writes nothing more for it. */
export async function releaseBatch(tx: StoreTransaction, { id, holder }: BatchRecord): Promise<void> {
  if (holder !== null) await tx.batches.release(id, holder);
}

/** A batch that was just taken, and the request that asks for it, if that has a record: taken in the same transaction. */
export function batchHolding(batch: BatchRecord, request: RequestRecord | null = null): Holding {
  const { id, tokenId, leaseUntilMs: untilMs } = batch;
  const holder = holderOf(batch);
  return {
    tokenId,
    ids: request === null ? [id] : [id, request.id],
    untilMs,
    prolong: async (tx, toMs) => {
      // The request may have its answer before all work is done.
      if (request !== null) await tx.requests.renew(request.id, holderOf(request), toMs);
      return tx.batches.renew(id, holder, toMs);
    },
    giveUp: async (tx) => {
      await tx.batches.release(id, holder);
      // A request that has no answer by now does not use its key up.
      if (request !== null && (await tx.requests.release(request.id, holderOf(request))))
        await tx.requests.remove(request.id);
    },
    lost: () => inProgress(id, undefined),
  };
}

const inProgress = (id: string, waiting: WaitingForChain | undefined): FlywheelError =>
  new FlywheelError(
    'ERR_BATCH_IN_PROGRESS',
    `Batch ${id} is in use by another request${waitsFor(waiting)}.`,
    {
      retryAfterSeconds: 1,
    },
  );
