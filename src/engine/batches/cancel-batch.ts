/**
 * Ends whatever of a batch has not been executed: by its state on chain it is voted down, its accounts are closed, and what it
 * held of caps and rent is given back (contract, section 1.7; squads-v4.md, sections 6 and 7.12).
 */
import { isDeepStrictEqual } from 'node:util';
import type { Commitment } from '../../chain/chain.js';
import { type Multisig, PERMISSION, type Proposal } from '../../chain/squads/accounts.js';
import { proposalActivate, proposalCancelV2, proposalReject } from '../../chain/squads/builders.js';
import type { Instruction } from '../../chain/transaction/message.js';
import { CANCELLED } from '../../contract/call.js';
import { cancelBatchRequestSchema } from '../../contract/schemas/batch.js';
import { parseInput } from '../../contract/validate.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchHead, BatchRecord, IssuedVoteKind } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { Address } from '../../values/address.js';
import { isoTime } from '../../values/time.js';
import { releaseHolds } from '../caps.js';
import type { EngineDeps } from '../deps.js';
import { underLease } from '../lease.js';
import { operation } from '../operation.js';
import { awaitFates } from '../settle.js';
import { Advance, type BatchWork, type End, type Goal, type Next } from './advance.js';
import {
  type BatchContext,
  batchHolding,
  claimBatch,
  contextOf,
  currentRecord,
  isOver,
} from './batch-context.js';
import { withCost } from './costs.js';
import { batchView, findBatch } from './get-batch.js';
import { type BatchOnChain, readBatchOnChain } from './on-chain.js';
import { checkSignedVote, issueVote, landOwnerVote } from './owner-vote.js';
import { closeAccounts, conclude, isCloseable, needsClosing } from './verdict.js';

export const cancelBatch = operation('cancelBatch', {
  parse: (input) => parseInput(cancelBatchRequestSchema, input),
  perform: async ({ deps, principal, input: { batchId, signedTx }, call }) => {
    const found = await findBatch(deps, principal, batchId);
    const context = contextOf(deps, principal);
    const batch = await deps.store.transaction((tx) => claim(deps, tx, found), found);
    const cancelTx = await underLease(deps, batchHolding(batch), call, async (lease) => {
      const asked = await cancel(await Advance.open({ deps, context, batch, lease }), signedTx);
      await lease.giveUp();
      return asked;
    });
    const current = await deps.store.read((tx) => currentRecord(tx, batch.id));
    const value =
      cancelTx === null
        ? { ownerVoteNeeded: false as const, batch: batchView(current, context) }
        : { ownerVoteNeeded: true as const, cancelTx };
    return withCost(deps, batch.id, value, batch.dateCancelled !== null);
  },
});

/** Takes the batch; an init that was cut off is not carried on while it is taken. */
async function claim(deps: EngineDeps, tx: StoreTransaction, { id }: BatchHead): Promise<BatchRecord> {
  const batch = await claimBatch(deps, tx, id);
  // One whose accounts could not be closed when it was executed has them closed now.
  if (batch.status === 'EXECUTED' && !needsClosing(batch)) {
    throw new FlywheelError('ERR_INVALID_REQUEST', `Batch ${id} is EXECUTED, so nothing can be cancelled.`);
  }
  return batch;
}

/** @returns the vote that the owner has to sign first, base64, or `null` when the batch is over. */
async function cancel(work: BatchWork, signedTx: string | undefined): Promise<string | null> {
  const { deps, batch } = work;
  const isOnChain = batch.status !== 'AVAILABLE_TO_QUEUE' || (await isOpened(work));
  if (isOnChain) {
    const ended = await voteDown(work, signedTx);
    if ('kind' in ended) return askOwner(work, ended.kind);
    if (!isOver(batch)) await judge(work, ended.state);
  } else await judge(work, null);
  const current = await deps.store.read((tx) => currentRecord(tx, batch.id));
  if (isOnChain && current.dateClosed === null) await closeAccounts({ ...work, batch: current });
  return null;
}

/** Is anything of an unfinished set-up on chain? The accounts at its index may be another's. */
async function isOpened({ deps, batch, lease, advance }: BatchWork): Promise<boolean> {
  const opening = advance.openOf('SETUP', 0);
  if (opening !== undefined) {
    const [fate] = await awaitFates(deps.chain, [opening], lease);
    if (fate?.kind === 'open') {
      throw new FlywheelError(
        'ERR_UNAVAILABLE',
        `Set-up transactions of batch ${batch.id} may still land. Try again in a minute, when they have expired.`,
      );
    }
  }
  await advance.settleAll();
  return advance.hasLanded('SETUP', 0);
}

/** Votes until the program lets the accounts be closed. @returns how it stands then, or the vote that the owner has to give. */
async function voteDown(
  work: BatchWork,
  signedTx: string | undefined,
): Promise<End<BatchOnChain> | { readonly kind: IssuedVoteKind }> {
  const { deps, context, batch, lease, advance } = work;
  const read = (commitment?: Commitment) => readBatchOnChain(deps.chain, context.flywheel, batch, commitment);
  let signed = signedTx;
  let asked: IssuedVoteKind | undefined;
  const next = async (found: BatchOnChain): Promise<Next> => {
    const { proposal, multisig } = found;
    invariant(proposal !== null, 'What has no proposal is over.');
    const vote = nextVote(multisig, proposal, context);
    if (vote.by === 'operator') {
      const first = advance.countLanded('CANCEL');
      return {
        ...{ phase: 'CANCEL', first, end: first + 1 },
        instructions: () => vote.instructions(batch.batchIndex),
      };
    }
    asked = vote.kind;
    if (signed === undefined) return 'wait';
    const given = signed;
    signed = undefined;
    try {
      await landOwnerVote(work, await checkSignedVote(work, vote.kind, given));
    } catch (error) {
      // Members may have been faster, with votes or with the last transaction: then what is next is decided anew.
      if (isDeepStrictEqual((await read()).proposal, proposal)) throw error;
    }
    return 'again';
  };
  const goal: Goal<BatchOnChain> = {
    read,
    isReached: (found) => found.proposal === null || isCloseable(found, batch),
    next,
  };
  let end = await advance.run(goal);
  // What an earlier run has signed may be the vote that was due then.
  if (end !== null && end.failure !== null) {
    await lease.write((tx) => advance.write(tx));
    end = await advance.run(goal);
  }
  if (end === null) return { kind: asked as IssuedVoteKind };
  if (end.failure === null) return end;
  await lease.write((tx) => advance.write(tx));
  // A vote of an earlier try may have landed only now; the chain as it is then decides what is next.
  throw new FlywheelError(
    'ERR_UNAVAILABLE',
    `The operator's vote on batch ${batch.id} failed: ${end.failure.message} Try again.`,
  );
}

async function askOwner(
  { deps, context, batch, lease, advance }: BatchWork,
  kind: IssuedVoteKind,
): Promise<string> {
  const vote = await issueVote(deps, context, batch, kind);
  await lease.write(async (tx) => {
    await advance.write(tx);
    await tx.batches.addVote(vote);
  });
  return Buffer.from(vote.transaction).toString('base64');
}

/** Writes that it is over. @param found - `null` where nothing of it was ever on chain. */
async function judge(work: BatchWork, found: BatchOnChain | null): Promise<void> {
  const { batch } = work;
  const isUnfinished = batch.status === 'AVAILABLE_TO_QUEUE';
  await conclude(
    work,
    found,
    (executed) => (executed === batch.pipelines.length ? null : { message: CANCELLED }),
    async (tx, { id, status, executeResult }) => {
      const date = isoTime(tx.nowMs);
      await releaseHolds(tx, batch);
      if (status === 'FAILED') await tx.batches.change(id, { dateCancelled: date, dateUpdated: date });
      // The key of its init is free again where nothing has come of it, and nothing will.
      if (isUnfinished && executeResult.totalSuccessful === 0) await tx.requests.remove(batch.requestId);
      if (found === null) await tx.batches.change(id, { dateClosed: date });
    },
  );
}

/** The vote that ends a proposal next (squads-v4.md, section 6): what it is, and who has to give it. */
type NextVote =
  | { readonly by: 'operator'; readonly instructions: (batchIndex: bigint) => readonly Instruction[] }
  | { readonly by: 'owner'; readonly kind: IssuedVoteKind };

/** Who may vote on a proposal, who has, and how many are missing to end it. */
function countVoters({ members, threshold }: Multisig, { status, rejected, cancelled }: Proposal) {
  const voters = members.filter(({ permissions }) => (permissions & PERMISSION.vote) !== 0);
  const isApproved = status.kind === 'Approved';
  const given = isApproved
    ? cancelled.filter((key) => members.some((member) => member.key === key))
    : rejected;
  return {
    kind: isApproved ? ('cancel' as const) : ('reject' as const),
    needed: (isApproved ? threshold : voters.length - threshold + 1) - given.length,
    canVote: (key: Address) => voters.some((voter) => voter.key === key) && !given.includes(key),
  };
}

/**
 * The vote that a proposal needs next to be rejected or cancelled.
 * @throws `ERR_INVALID_REQUEST` when owner and operator together are not enough.
 */
function nextVote(account: Multisig, proposal: Proposal, { flywheel }: BatchContext): NextVote {
  const { multisig, owner, operator: member } = flywheel;
  const { kind, needed, canVote } = countVoters(account, proposal);
  const isDraft = proposal.status.kind === 'Draft';
  const operatorVote: NextVote = {
    by: 'operator',
    instructions: (batchIndex) => {
      const input = { multisig, batchIndex, member };
      if (kind === 'cancel') return [proposalCancelV2(input)];
      return isDraft ? [proposalActivate(input), proposalReject(input)] : [proposalReject(input)];
    },
  };
  // A draft takes no votes; activating it is the operator's.
  if (isDraft || (canVote(member) && needed <= 1)) return operatorVote;
  // The owner first, so that nothing is voted on before the owner agrees.
  if (canVote(owner)) return { by: 'owner', kind };
  if (canVote(member)) return operatorVote;
  throw new FlywheelError(
    'ERR_INVALID_REQUEST',
    `The batch needs ${needed} more votes by other members of the multisig ${multisig} to ${kind} it.`,
  );
}
