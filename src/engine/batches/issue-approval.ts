/** A fresh approval of a batch that waits for its owner, when the one before has expired or was lost (contract, section 1.7). */
import { issueApprovalRequestSchema } from '../../contract/schemas/batch.js';
import { parseInput } from '../../contract/validate.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { BatchRecord } from '../../store/records.js';
import type { Principal } from '../authenticate.js';
import { operation } from '../operation.js';
import { notPermitted } from '../requests.js';
import { currentRecord, isFinal } from './batch-claim.js';
import { contextOf } from './batch-context.js';
import { findBatch, initBatchView } from './get-batch.js';
import { readBatchState, requireNotStale } from './on-chain.js';
import { issueVote } from './owner-vote.js';

export const issueApproval = operation('issueApproval', {
  parse: (input) => parseInput(issueApprovalRequestSchema, input),
  perform: async ({ deps, principal, input: { batchId } }) => {
    const found = await findBatch(deps, principal, batchId);
    const batch = await deps.store.read((tx) => currentRecord(tx, found.id));
    requirePermitted(principal, batch);
    if (batch.status === 'AVAILABLE_TO_QUEUE')
      throw new FlywheelError('ERR_BATCH_NOT_FINALIZED', `Batch ${batch.id} is not finalized yet.`);
    const context = contextOf(deps, principal);
    const { flywheel } = context;
    if (isFinal(batch)) throw nothingToApprove(`Batch ${batch.id} is ${batch.status}`);
    const state = await readBatchState(deps.chain, flywheel, batch);
    const { proposal } = state;
    requireNotStale(state, batch);
    const status = proposal?.status.kind ?? 'gone';
    if (status !== 'Active')
      throw nothingToApprove(`The proposal of batch ${batch.id} is ${status} on chain`);
    if (proposal?.approved.includes(flywheel.owner) === true)
      throw nothingToApprove(`${flywheel.owner} has already approved batch ${batch.id} on chain`);
    const vote = await issueVote(deps, context, batch, 'approve');
    const current = await deps.store.transaction(async (tx) => {
      await tx.batches.addVote(vote);
      return currentRecord(tx, batch.id);
    }, batch);
    return {
      value: await initBatchView(current, context, vote),
      meta: { replayed: false, cost: current.cost },
    };
  },
});

/** The answer holds every proof of the batch, and without all of them nobody can tell what is approved. */
function requirePermitted({ key }: Principal, { pipelines }: BatchRecord): void {
  const foreign = pipelines.find(({ type }) => key.proofTypes?.includes(type) === false);
  if (foreign !== undefined) throw notPermitted(foreign.type);
}

const nothingToApprove = (reason: string): FlywheelError =>
  new FlywheelError('ERR_INVALID_REQUEST', `${reason}, so there is nothing to approve.`);
