/** Reading a batch: by its id, or the current one of the key's token (service specification, sections 4.3 and 4.4). */
import type { Reply } from '../../contract/call.js';
import { type Batch, getBatchRequestSchema } from '../../contract/schemas/batch.js';
import { parseInput } from '../../contract/validate.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { BatchHead } from '../../store/records.js';
import { isUuid } from '../../values/uuid.js';
import { type Principal, requireToken } from '../authenticate.js';
import type { EngineDeps } from '../deps.js';
import { operation } from '../operation.js';
import { ownerOf } from './batch-context.js';
import { batchView } from './batch-view.js';

/**
 * The batch with this id, if it belongs to the key's token.
 * @throws `ERR_BATCH_NOT_FOUND`
 */
export async function findBatch(deps: EngineDeps, principal: Principal, batchId: string): Promise<BatchHead> {
  const token = requireToken(principal);
  const id = batchId.toLowerCase();
  const batch = isUuid(id) ? await deps.store.read((tx) => tx.batches.head(id)) : undefined;
  if (batch === undefined || batch.tokenId !== token.id) {
    throw new FlywheelError('ERR_BATCH_NOT_FOUND', `No batch ${batchId.slice(0, 64)}.`);
  }
  return batch;
}

const reply = (principal: Principal, batch: BatchHead): Reply<Batch> => ({
  value: batchView(batch, ownerOf(principal)),
  meta: { replayed: false, cost: batch.cost },
});

export const getBatch = operation('getBatch', {
  parse: (input) => parseInput(getBatchRequestSchema, input),
  perform: async ({ deps, principal, input }) =>
    reply(principal, await findBatch(deps, principal, input.batchId)),
});

export const currentBatch = operation('currentBatch', {
  parse: (_input, { principal }) => requireToken(principal),
  perform: async ({ deps, principal, input: token }) => {
    try {
      const batch = await deps.store.read((tx) => tx.batches.current(token.id));
      return batch === undefined ? { value: null, meta: { replayed: false } } : reply(principal, batch);
    } catch (cause) {
      throw new FlywheelError('ERR_BATCH_CURRENT_FAILED', 'The current batch could not be read.', { cause });
    }
  },
});
