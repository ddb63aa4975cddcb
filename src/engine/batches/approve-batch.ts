/** Brings the two approvals onto the chain: the owner's as it was signed, then the operator's own. */
import { invalidRequest } from '../../contract/validate.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { BatchRecord, BundleRecord } from '../../store/records.js';
import type { EngineDeps } from '../deps.js';
import type { Lease } from '../lease.js';
import { approveInstructions, type BatchContext } from './batch-context.js';
import { holdFromNow, refuseOverCaps } from './holds.js';
import { countVotes, landOwnerVote } from './land-vote.js';
import {
  type BatchOnChain,
  type BatchState,
  differenceFromPlan,
  readBatchOnChain,
  readBatchState,
} from './on-chain.js';
import { checkSignedVote, isSignedByAll, type SignedVote } from './owner-vote.js';
import { runPhase } from './run-phase.js';

export interface ApproveInput {
  readonly deps: EngineDeps;
  readonly context: BatchContext;
  readonly batch: BatchRecord;
  /** The votes as they were before anything of this run. */
  readonly stored: readonly BundleRecord[];
  readonly lease: Lease;
  /** `undefined`: the owner's approval has to stand on chain already. */
  readonly signedTx: string | undefined;
}

/**
 * Makes the batch approved by owner and operator, and lets it count against the caps of today from then on.
 * @returns why it can never run (it was rejected or cancelled with other tools), or `null`.
 * @throws `ERR_INVALID_SIGNED_TX`, `ERR_APPROVAL_EXPIRED`, `ERR_INSUFFICIENT_FUNDS`; `ERR_INVALID_REQUEST` where a signed
 * approval is needed and missing; `ERR_DAILY_LIMIT_EXCEEDED`, and the batch stays as it is.
 */
export async function approveBatch(input: ApproveInput): Promise<string | null> {
  const { deps, context, batch, lease } = input;
  const before = await readPlanned(input);
  const vote = await givenVote(input, before);
  // An earlier run may have landed approvals and not lived to count what they cost.
  await countVotes(deps, batch, lease, vote === null ? [] : [vote]);
  const blocked = blockedReason(before);
  if (blocked !== null) return blocked;
  if (kindOf(before) === 'Executed') return null;
  // It can run already, no matter who approved it: so it counts from now on, even where it is refused here for being too much.
  if (kindOf(before) === 'Approved') await lease.write((tx) => holdFromNow(tx, batch));
  if (kindOf(before) !== 'Active') {
    await deps.store.read((tx) => refuseOverCaps(tx, context, batch));
    return null;
  }
  // Either vote may be the last that it needs, where the other was given with other tools: so it counts before any is sent. It goes
  // on counting where that fails: a node that lags behind does not show yet what others have done.
  await lease.write(async (tx) => {
    await refuseOverCaps(tx, context, batch);
    await holdFromNow(tx, batch);
  });
  if (vote !== null && !standsOnChain(input, before)) await landVote(input, vote);
  if (kindOf(await readPlanned(input)) === 'Active') await landOperatorApproval(input);
  return blockedReason(await readBatchState(deps.chain, context.flywheel, batch));
}

/**
 * One vote of the owner fails where another one has landed before it: of an earlier approval, then the owner has approved all the
 * same; or one that has ended the proposal.
 */
async function landVote(input: ApproveInput, vote: SignedVote): Promise<void> {
  try {
    await landOwnerVote(input.deps, input.batch, input.lease, vote);
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_BATCH_EXECUTE_FAILED')) throw error;
    const now = await readPlanned(input);
    if (kindOf(now) === 'Active' && !standsOnChain(input, now)) throw error;
  }
}

/** The owner has approved, with whatever tool. */
const standsOnChain = ({ context }: ApproveInput, { proposal }: BatchState): boolean =>
  proposal?.approved.includes(context.flywheel.owner) === true;

/** The signed approval that came with the request; `null` where none did and none is needed. */
async function givenVote(input: ApproveInput, before: BatchState): Promise<SignedVote | null> {
  const { signedTx } = input;
  if (signedTx === undefined) {
    if (kindOf(before) !== 'Active' || standsOnChain(input, before)) return null;
    const earlier = earlierVote(input);
    if (earlier !== undefined) return checkVote(input, earlier);
    throw invalidRequest(["signedTx: expected base64 text; the owner's approval does not stand on chain"]);
  }
  return checkVote(input, signedTx);
}

/** The approval that had landed and was taken back by the chain, base64, where it came with all its signatures. */
function earlierVote({ stored }: ApproveInput): string | undefined {
  const bundle = stored.findLast(({ phase, status }) => phase === 'OWNER_APPROVAL' && status === 'PENDING');
  const bytes = bundle?.transactions[0]?.bytes;
  if (bytes === undefined || !isSignedByAll(bytes)) return undefined;
  return Buffer.from(bytes).toString('base64');
}

async function checkVote({ deps, context, batch }: ApproveInput, signedTx: string): Promise<SignedVote> {
  const issued = await deps.store.read((tx) => tx.batches.votes(batch.id));
  const expiredHeight = await deps.chain.expiredHeight();
  return checkSignedVote(signedTx, { context, batch, kind: 'approve', issued, expiredHeight });
}

const kindOf = ({ proposal }: BatchState) => proposal?.status.kind;

/**
 * Reads the batch and checks that it holds exactly what was planned, before the operator adds its own approval.
 * @throws `ERR_BATCH_EXECUTE_FAILED` when anything on chain differs from the plan.
 */
async function readPlanned({
  deps,
  context,
  batch,
}: Pick<ApproveInput, 'deps' | 'context' | 'batch'>): Promise<BatchOnChain> {
  const found = await readBatchOnChain(deps.chain, context.flywheel, batch);
  // Of what can run no more, anybody may close a part.
  if (kindOf(found) === 'Executed' || blockedReason(found) !== null) return found;
  const difference = differenceFromPlan(found, batch, context.flywheel);
  if (difference === null) return found;
  throw new FlywheelError(
    'ERR_BATCH_EXECUTE_FAILED',
    `Batch ${batch.id} on chain is not what was planned: ${difference}. Nothing was approved or executed.`,
  );
}

function blockedReason(found: BatchState): string | null {
  const kind = kindOf(found);
  return kind === 'Rejected' || kind === 'Cancelled'
    ? `The proposal was ${kind.toLowerCase()} on chain.`
    : null;
}

async function landOperatorApproval({ deps, context, batch, lease }: ApproveInput): Promise<void> {
  // As it is now: a vote that an earlier run has landed may just have been counted.
  const stored = await deps.store.read((tx) => tx.bundles.ofBatch(batch.id, ['OPERATOR_APPROVAL']));
  const phase = await runPhase(deps, {
    batchId: batch.id,
    tokenId: batch.tokenId,
    phase: 'OPERATOR_APPROVAL',
    signer: context.operator,
    transactions: [approveInstructions(context, batch.batchIndex)],
    stored,
    lease,
  });
  const { failure } = phase;
  await lease.write(phase.settle);
  if (failure === null || kindOf(await readPlanned({ deps, context, batch })) !== 'Active') return;
  throw new FlywheelError(
    'ERR_BATCH_EXECUTE_FAILED',
    `The operator's approval of batch ${batch.id} failed: ${failure.message}`,
  );
}
