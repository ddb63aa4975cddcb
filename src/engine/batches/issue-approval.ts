/** A fresh approval of a batch that waits for its owner, when the one before has expired or was lost (contract, section 1.7). */
import type { Call, Reply } from '../../contract/call.js';
import { OPERATIONS } from '../../contract/operations.js';
import {
  type InitBatchResult,
  type IssueApprovalRequest,
  issueApprovalRequestSchema,
} from '../../contract/schemas/batch.js';
import { parseInput } from '../../contract/validate.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { admit, requireFlywheel, requireToken } from '../auth/authenticate.js';
import type { EngineDeps } from '../deps.js';
import { currentRecord, isFinal } from './batch-claim.js';
import type { BatchContext } from './batch-context.js';
import { initBatchView } from './batch-view.js';
import { findBatch } from './get-batch.js';
import { readBatchOnChain } from './on-chain.js';
import { issueVote } from './owner-vote.js';

export async function issueApproval(
  deps: EngineDeps,
  input: IssueApprovalRequest,
  call: Call,
): Promise<Reply<InitBatchResult>> {
  const principal = await admit(deps.store, call.credential, OPERATIONS.issueApproval);
  const { batchId } = parseInput(issueApprovalRequestSchema, input);
  const batch = await findBatch(deps, principal, batchId);
  if (batch.status === 'AVAILABLE_TO_QUEUE')
    throw new FlywheelError('ERR_BATCH_NOT_FINALIZED', `Batch ${batch.id} is not finalized yet.`);
  const flywheel = requireFlywheel(principal);
  const context: BatchContext = {
    token: requireToken(principal),
    flywheel,
    operator: deps.keyring.get(flywheel.operator),
  };
  if (isFinal(batch)) throw nothingToApprove(`Batch ${batch.id} is ${batch.status}`);
  const { proposal } = await readBatchOnChain(deps.chain, flywheel, batch);
  const status = proposal?.status.kind ?? 'gone';
  if (status !== 'Active') throw nothingToApprove(`The proposal of batch ${batch.id} is ${status} on chain`);
  if (proposal?.approved.includes(flywheel.owner) === true)
    throw nothingToApprove(`${flywheel.owner} has approved batch ${batch.id} on chain already`);
  const vote = await issueVote(deps, context, batch, 'approve');
  const current = await deps.store.transaction(async (tx) => {
    await tx.batches.addVote(vote);
    return currentRecord(tx, batch.id);
  });
  return {
    value: await initBatchView(current, context, vote),
    meta: { replayed: false, cost: current.cost },
  };
}

const nothingToApprove = (reason: string): FlywheelError =>
  new FlywheelError('ERR_INVALID_REQUEST', `${reason}, so there is nothing to approve.`);
