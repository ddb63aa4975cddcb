/** Who works on a batch: one engine at a time, whatever it does to it. */
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { type EngineDeps, LEASE_MS } from '../deps.js';
import { isWorkedOn } from '../requests/requests.js';

export const isFinal = ({ status }: BatchRecord): boolean => status === 'EXECUTED' || status === 'FAILED';

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
  if (isWorkedOn(deps, batch)) throw inProgress(batch.id);
  await tx.batches.claim(batch.id, deps.instances.id, deps.clock.nowMs() + LEASE_MS);
  return batch;
}

/**
 * Prolongs the claim.
 * @throws `ERR_BATCH_IN_PROGRESS` when another engine has taken the batch, which may be far ahead by its clock; nothing more
 * may be written for it then.
 */
export const renewClaim =
  (deps: EngineDeps, { id }: BatchRecord) =>
  async (tx: StoreTransaction): Promise<void> => {
    if (!(await tx.batches.renew(id, deps.instances.id, deps.clock.nowMs() + LEASE_MS))) throw inProgress(id);
  };

const inProgress = (id: string): FlywheelError =>
  new FlywheelError('ERR_BATCH_IN_PROGRESS', `Batch ${id} is being worked on.`, { retryAfterSeconds: 1 });
