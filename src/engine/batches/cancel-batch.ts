/**
 * Cancels a batch by its state on chain: votes, closes accounts, releases reserved caps and rent (contract, section 1.7;
 * squads-v4.md, sections 6 and 7.12).
 */
import { isDeepStrictEqual } from 'node:util';
import { type Multisig, type Proposal, votersOf, votesToEnd } from '../../chain/squads/accounts.js';
import { proposalActivate, proposalCancelV2, proposalReject } from '../../chain/squads/builders.js';
import type { Instruction } from '../../chain/transaction/message.js';
import { CANCELLED } from '../../contract/call.js';
import { cancelBatchRequestSchema } from '../../contract/schemas/batch.js';
import { parseInput } from '../../contract/validate.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { IssuedVoteKind, ProjectRecord } from '../../store/records.js';
import type { Address } from '../../values/address.js';
import { isoTime } from '../../values/time.js';
import { releaseHolds } from '../caps.js';
import { operation } from '../operation.js';
import { awaitFates } from '../settle.js';
import { type BatchWork, type End, type Goal, type Next, workOnBatch } from './advance.js';
import { claimBatch, contextOf, currentRecord, isOver, withCost } from './batch-context.js';
import { batchView, findPermitted } from './get-batch.js';
import type { BatchState } from './on-chain.js';
import { checkSignedVote, issueVote, landOwnerVote } from './owner-vote.js';
import { closeAccounts, conclude, isCloseable } from './verdict.js';

export const cancelBatch = operation('cancelBatch', {
  parse: (input) => parseInput(cancelBatchRequestSchema, input),
  perform: async ({ deps, principal, input: { batchId, signedTx }, call }) => {
    const found = await deps.store.read((tx) => findPermitted(tx, principal, batchId));
    const context = contextOf(deps, principal);
    const batch = await deps.store.transaction((tx) => claimBatch(deps, tx, found.id), found);
    const cancelTx = await workOnBatch(deps, context, { batch, request: null }, call, (work) =>
      cancel(work, signedTx),
    );
    return deps.store.read(async (tx) => {
      const value =
        cancelTx === null
          ? {
              ownerVoteNeeded: false as const,
              batch: batchView(await currentRecord(tx, batch.id), context.project),
            }
          : { ownerVoteNeeded: true as const, cancelTx };
      return withCost(tx, batch.id, value, batch.dateCancelled !== null);
    });
  },
});

/** @returns the vote that the owner must sign next, base64, or `null` when the batch is over. */
async function cancel(work: BatchWork, signedTx: string | undefined): Promise<string | null> {
  const { batch } = work;
  const isOnChain = batch.status !== 'AVAILABLE_TO_QUEUE' || (await isOpened(work));
  if (isOnChain) {
    const ended = await voteDown(work, signedTx);
    if ('kind' in ended) return askOwner(work, ended.kind);
    if (!isOver(batch)) await judge(work, ended.state);
  } else await judge(work, null);
  if (isOnChain && batch.dateClosed === null) await closeAccounts(work);
  return null;
}

/** Whether an unfinished set-up is on chain. The accounts at its index may belong to another batch. */
async function isOpened(work: BatchWork): Promise<boolean> {
  const { deps, batch, lease } = work;
  const opening = work.openOf('SETUP', 0);
  if (opening !== undefined) {
    const [fate] = await awaitFates(deps.chain, [opening], lease);
    if (fate?.kind === 'open') {
      throw new FlywheelError(
        'ERR_UNAVAILABLE',
        `Set-up transactions of batch ${batch.id} may still land. Try again in a minute, when they have expired.`,
      );
    }
  }
  await work.settleAll();
  return work.hasLanded('SETUP', 0);
}

/** @returns the end, or the vote that the owner must give. */
async function voteDown(
  work: BatchWork,
  signedTx: string | undefined,
): Promise<End | { readonly kind: IssuedVoteKind }> {
  const { context, batch } = work;
  let signed = signedTx;
  let asked: IssuedVoteKind | undefined;
  const next = async (found: BatchState): Promise<Next> => {
    const { proposal, multisig } = found;
    invariant(proposal !== null, 'What has no proposal is over.');
    const vote = nextVote(multisig, proposal, context.project, batch.batchIndex);
    if (typeof vote !== 'string') {
      const first = work.countLanded('CANCEL');
      return { phase: 'CANCEL', first, end: first + 1, instructions: () => vote };
    }
    asked = vote;
    if (signed === undefined) return 'wait';
    const given = signed;
    signed = undefined;
    try {
      await landOwnerVote(work, await checkSignedVote(work, vote, given));
    } catch (error) {
      // Votes or executions of members may have come first. If the proposal changed, the next step is decided again.
      if (isDeepStrictEqual((await work.read()).proposal, proposal)) throw error;
    }
    return 'again';
  };
  const goal: Goal = {
    isReached: (found) => found.proposal === null || isCloseable(found, batch),
    next,
  };
  let end = await work.run(goal);
  // The failed vote may come from an earlier run in another state; one more run decides by the current state.
  if (end !== null && end.failure !== null) {
    await work.write();
    end = await work.run(goal);
  }
  if (end === null) return { kind: asked as IssuedVoteKind };
  if (end.failure === null) return end;
  await work.write();
  // A vote of an earlier run may have landed only now, so a repeat decides by the new state.
  throw new FlywheelError(
    'ERR_UNAVAILABLE',
    `The operator's vote on batch ${batch.id} failed: ${end.failure.message} Try again.`,
  );
}

async function askOwner(work: BatchWork, kind: IssuedVoteKind): Promise<string> {
  const vote = await issueVote(work.deps, work.context, work.batch, kind);
  await work.write((tx) => tx.batches.addVote(vote));
  return Buffer.from(vote.transaction).toString('base64');
}

async function judge(work: BatchWork, found: BatchState | null): Promise<void> {
  const { batch } = work;
  await conclude(
    work,
    found,
    (executed) => (executed === batch.pipelines.length ? null : { message: CANCELLED }),
    async (tx, { id, status }) => {
      const date = isoTime(tx.nowMs);
      await releaseHolds(tx, batch);
      if (status === 'FAILED') await tx.batches.change(id, { dateCancelled: date, dateUpdated: date });
      if (found === null) await tx.batches.change(id, { dateClosed: date });
    },
  );
}

/**
 * The next vote for rejecting or cancelling a proposal (squads-v4.md, section 6): instructions of the operator, or the vote that
 * the owner must give.
 * @throws `ERR_INVALID_REQUEST` when the votes of owner and operator are not enough.
 */
function nextVote(
  account: Multisig,
  { status, rejected, cancelled }: Proposal,
  { multisig, owner, operator: member }: ProjectRecord,
  batchIndex: bigint,
): IssuedVoteKind | readonly Instruction[] {
  const voters = votersOf(account);
  const isApproved = status.kind === 'Approved';
  const isDraft = status.kind === 'Draft';
  const given = isApproved
    ? cancelled.filter((key) => account.members.some((one) => one.key === key))
    : rejected;
  const needed = votesToEnd(account)[isApproved ? 'cancelled' : 'rejected'] - given.length;
  const canVote = (key: Address): boolean => voters.some((one) => one.key === key) && !given.includes(key);
  const input = { multisig, batchIndex, member };
  const vote = isApproved ? [proposalCancelV2(input)] : [proposalReject(input)];
  // A draft takes no votes; the operator activates it first.
  if (isDraft) return [proposalActivate(input), ...vote];
  if (canVote(member) && needed <= 1) return vote;
  // The owner votes first, so that the operator does not vote without the owner's consent.
  if (canVote(owner)) return isApproved ? 'cancel' : 'reject';
  if (canVote(member)) return vote;
  throw new FlywheelError(
    'ERR_INVALID_REQUEST',
    `The batch needs ${needed} more votes by other members of the multisig ${multisig} to ${isApproved ? 'cancel' : 'reject'} it.`,
  );
}
