/** The two approvals of a batch: the owner's as it was signed, then the operator's own. */
import type { Instruction } from '../../chain/transaction/message.js';
import { invalidRequest } from '../../contract/validate.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { BatchRecord } from '../../store/records.js';
import type { BatchWork, Failure, Next } from './advance.js';
import { approveInstructions } from './batch-context.js';
import { holdFromNow, refuseOverCaps } from './holds.js';
import {
  type BatchOnChain,
  type BatchState,
  differenceFromPlan,
  isEnded,
  kindOf,
  readBatchOnChain,
  requireNotStale,
} from './on-chain.js';
import { checkSignedVote, isSignedByAll, landOwnerVote, type SignedVote } from './owner-vote.js';

export interface ApprovalInput extends BatchWork {
  /** `undefined`: the owner's approval has to stand on chain already. */
  readonly signedTx: string | undefined;
}

/**
 * What brings an active proposal closer to its approval by owner and operator; the batch counts against the caps of today from
 * before the first vote is sent.
 * @throws `ERR_INVALID_SIGNED_TX`, `ERR_APPROVAL_EXPIRED`, `ERR_INSUFFICIENT_FUNDS`; `ERR_INVALID_REQUEST` where a signed
 * approval is needed and missing; `ERR_DAILY_LIMIT_EXCEEDED`, and the batch stays as it is; `ERR_BATCH_EXECUTE_FAILED` when anything
 * on chain differs from the plan.
 */
export async function approvalSteps(input: ApprovalInput): Promise<Next> {
  const { context, batch, lease } = input;
  const { flywheel } = context;
  const found = await readPlanned(input);
  if (kindOf(found) !== 'Active') return 'again';
  requireNotStale(found, batch);
  const vote = await givenVote(input, found);
  // Either vote may be the last that it needs, where the other was given with other tools: so it counts before any is sent. It goes
  // on counting where that fails: a node that lags behind does not show yet what others have done.
  await lease.write(async (tx) => {
    await refuseOverCaps(tx, context, batch);
    await holdFromNow(tx, batch);
  });
  if (vote !== null) {
    await landApproval(input, vote);
    return 'again';
  }
  if (found.proposal?.approved.includes(flywheel.operator) === true) {
    throw new FlywheelError(
      'ERR_BATCH_EXECUTE_FAILED',
      `Owner and operator have approved batch ${batch.id}, but its multisig ${flywheel.multisig} needs more votes.`,
    );
  }
  const instructions = (): readonly Instruction[] => approveInstructions(context, batch.batchIndex);
  return { phase: 'OPERATOR_APPROVAL', first: 0, end: 1, instructions };
}

/** What stopped the operator's approval. */
export const approvalFailed = ({ id }: BatchRecord, { message }: Failure): FlywheelError =>
  new FlywheelError('ERR_BATCH_EXECUTE_FAILED', `The operator's approval of batch ${id} failed: ${message}`);

/**
 * Lands the owner's vote. It fails where another has landed before it: of an earlier approval, then the owner has approved all the
 * same; or one that has ended the proposal.
 */
async function landApproval(input: ApprovalInput, vote: SignedVote): Promise<void> {
  try {
    await landOwnerVote(input, vote);
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_BATCH_EXECUTE_FAILED')) throw error;
    const now = await readPlanned(input);
    if (kindOf(now) === 'Active' && !standsOnChain(input, now)) throw error;
  }
}

/** The owner has approved, with whatever tool. */
const standsOnChain = ({ context }: ApprovalInput, { proposal }: BatchState): boolean =>
  proposal?.approved.includes(context.flywheel.owner) === true;

/** The signed approval that is to be landed; `null` where it stands on chain already. */
async function givenVote(input: ApprovalInput, found: BatchState): Promise<SignedVote | null> {
  const { signedTx, advance } = input;
  if (signedTx !== undefined) {
    const vote = await checkSignedVote(input, 'approve', signedTx);
    return standsOnChain(input, found) ? null : vote;
  }
  if (standsOnChain(input, found)) return null;
  // It was sent, and the chain has taken it back, or an earlier run did not live to see it land.
  const earlier = advance.openBytes('OWNER_APPROVAL');
  if (earlier !== undefined && isSignedByAll(earlier))
    return checkSignedVote(input, 'approve', Buffer.from(earlier).toString('base64'));
  throw invalidRequest(['signedTx: expected base64 text; the owner has not approved on chain']);
}

/**
 * Reads the batch and checks that it holds exactly what was planned, before anybody votes on it or executes it here.
 * @throws `ERR_BATCH_EXECUTE_FAILED` when anything on chain differs from the plan.
 */
export async function readPlanned({ deps, context, batch }: BatchWork): Promise<BatchOnChain> {
  const found = await readBatchOnChain(deps.chain, context.flywheel, batch);
  // Of what can run no more, anybody may close a part.
  if (isEnded(found)) return found;
  const difference = differenceFromPlan(found, batch, context.flywheel);
  if (difference === null) return found;
  throw new FlywheelError(
    'ERR_BATCH_EXECUTE_FAILED',
    `Batch ${batch.id} on chain differs from the plan: ${difference}. Nothing was approved or executed.`,
  );
}
