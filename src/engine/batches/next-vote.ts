/** Which vote ends a proposal next, and whose it is (squads-v4.md, section 6). */

import { type Multisig, PERMISSION, type Proposal } from '../../chain/squads/accounts.js';
import { proposalActivate, proposalCancelV2, proposalReject } from '../../chain/squads/builders.js';
import type { Instruction } from '../../chain/transaction/instruction.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { VoteKind } from '../../store/records.js';
import type { Address } from '../../values/address.js';
import type { BatchContext } from './batch-context.js';

/** The vote that is next: what it is, and who has to give it. */
type NextVote =
  | { readonly by: 'operator'; readonly instructions: (batchIndex: bigint) => readonly Instruction[] }
  | { readonly by: 'owner'; readonly kind: VoteKind };

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
export function nextVote(account: Multisig, proposal: Proposal, { flywheel }: BatchContext): NextVote {
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
