/** What of the store has not come to its end, as people are told of it. */
import type { RecoveryScope, UnfinishedWork } from '../contract/local-admin.js';
import { invariant } from '../errors/flywheel-error.js';
import type { BundlePhase } from '../store/records.js';
import type { StoreTransaction } from '../store/store.js';
import { currentRecord } from './batches/batch-claim.js';
import type { EngineDeps } from './deps.js';
import { isWorkedOn } from './lease.js';

/** Everything that is pending, whether or not anybody is at it: burns, then set-ups, then executions. */
export async function listUnfinished(
  deps: EngineDeps,
  { tokenId = null }: RecoveryScope = {},
): Promise<readonly UnfinishedWork[]> {
  return deps.store.read(async (tx) => {
    const work: UnfinishedWork[] = [];
    for (const id of await tx.unfinished.burnRequests(tokenId)) work.push(await burnsOf(tx, id));
    for (const id of await tx.unfinished.setUps(tokenId)) work.push(await batchOf(tx, id, 'initBatch'));
    for (const id of await tx.unfinished.executions(tokenId))
      work.push(await batchOf(tx, id, 'executeBatch'));
    return work;
  });
}

async function burnsOf(tx: StoreTransaction, requestId: string): Promise<UnfinishedWork> {
  const request = await tx.requests.get(requestId);
  invariant(request !== undefined, 'A request stays for as long as it has pending burns.');
  const burns = await tx.burns.ofRequest(requestId);
  return {
    id: requestId,
    operation: request.operation,
    idempotencyKey: request.value,
    running: isWorkedOn(tx, request),
    dateBegun: request.dateCreated,
    signatures: burns.filter(({ status }) => status === 'PENDING').map(({ signature }) => signature),
  };
}

const PHASES: Readonly<Record<'initBatch' | 'executeBatch', readonly BundlePhase[]>> = {
  initBatch: ['SETUP'],
  executeBatch: ['OWNER_APPROVAL', 'OPERATOR_APPROVAL', 'EXECUTE'],
};

async function batchOf(
  tx: StoreTransaction,
  batchId: string,
  operation: keyof typeof PHASES,
): Promise<UnfinishedWork> {
  const batch = await currentRecord(tx, batchId);
  const init = await tx.requests.get(batch.requestId);
  const isBeingSetUp = operation === 'initBatch' && init?.status === 'running' && isWorkedOn(tx, init);
  const bundles = await tx.bundles.ofBatch(batchId, PHASES[operation]);
  return {
    id: batchId,
    operation,
    idempotencyKey: operation === 'initBatch' ? (init?.value ?? null) : null,
    running: isBeingSetUp || isWorkedOn(tx, batch),
    dateBegun: batch.dateCreated,
    signatures: bundles
      .filter(({ status }) => status === 'PENDING')
      .flatMap(({ transactions }) => transactions.map(({ signature }) => signature)),
  };
}
