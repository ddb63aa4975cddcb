/** Reading a batch: by its id, or the current one of the key's token (service specification, sections 4.3 and 4.4). */
import type { Call, Reply } from '../../contract/call.js';
import { OPERATIONS } from '../../contract/operations.js';
import type { Batch } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { BatchRecord } from '../../store/records.js';
import { admit, type Principal, requireFlywheel, requireToken } from '../auth/authenticate.js';
import type { EngineDeps } from '../deps.js';
import { batchView } from './batch-view.js';

/**
 * The batch with this id, if it belongs to the key's token.
 * @throws `ERR_BATCH_NOT_FOUND`
 */
export async function findBatch(
  deps: EngineDeps,
  principal: Principal,
  batchId: string,
): Promise<BatchRecord> {
  const token = requireToken(principal);
  const batch = await deps.store.read((tx) => tx.batches.get(batchId.toLowerCase()));
  if (batch === undefined || batch.tokenId !== token.id) {
    throw new FlywheelError('ERR_BATCH_NOT_FOUND', `There is no batch ${batchId.slice(0, 64)}.`);
  }
  return batch;
}

const reply = (principal: Principal, batch: BatchRecord): Reply<Batch> => ({
  value: batchView(batch, { token: requireToken(principal), flywheel: requireFlywheel(principal) }),
  meta: { replayed: false, cost: batch.cost },
});

export async function getBatch(deps: EngineDeps, batchId: string, call: Call): Promise<Reply<Batch>> {
  const principal = await admit(deps.store, call.credential, OPERATIONS.getBatch);
  return reply(principal, await findBatch(deps, principal, batchId));
}

export async function currentBatch(deps: EngineDeps, call: Call): Promise<Reply<Batch | null>> {
  const principal = await admit(deps.store, call.credential, OPERATIONS.currentBatch);
  const token = requireToken(principal);
  try {
    const batch = await deps.store.read((tx) => tx.batches.current(token.id));
    return batch === undefined ? { value: null, meta: { replayed: false } } : reply(principal, batch);
  } catch (cause) {
    throw new FlywheelError('ERR_BATCH_CURRENT_FAILED', 'The current batch could not be read.', { cause });
  }
}
