/** proposalApprove, proposalReject, proposalCancel and proposalCancelV2 (squads-v4.md, sections 6 and 7.6 to 7.9). */
import type { Address } from '../../../values/address.js';
import { rentExemptLamports } from '../../account.js';
import {
  ACCOUNT_SIZE,
  MULTISIG,
  type Multisig,
  PROPOSAL,
  type Proposal,
  type ProposalStatusKind,
} from '../../squads/layouts/accounts.js';
import type { ArgumentsByName } from '../../squads/layouts/instructions.js';
import { transfer } from '../../system.js';
import { isWritable, readState, signer, systemProgram, writtenState } from './account-rules.js';
import { instruction, type Loaded, type Plain, type Rule, type Scope } from './definition.js';
import { fail, panic, type SquadsError } from './errors.js';
import { compareKeys, isActive, isApproved, isMember, isStale, voters } from './multisig-rules.js';
import {
  memberRules,
  multisigAddressRule,
  proposalAddressRule,
  proposalWritableRule,
  VOTE,
} from './state-rules.js';

type Accounts = { multisig: Loaded<Multisig>; member: Plain; proposal: Loaded<Proposal> };
type VoteScope = Scope<Accounts, ArgumentsByName['proposalApprove']>;
type AccountsV2 = Accounts & { systemProgram: Plain };

const accounts = {
  multisig: readState<Multisig, VoteScope>(MULTISIG, [multisigAddressRule]),
  member: signer<VoteScope>([isWritable((scope) => scope.accounts.member)]),
  proposal: writtenState<Proposal, VoteScope>(PROPOSAL, [
    proposalAddressRule((scope: VoteScope) => scope.accounts.proposal.value.transactionIndex),
    proposalWritableRule,
  ]),
};

const mayVote = memberRules((scope: VoteScope) => scope.accounts.member, VOTE);

/** For approving and rejecting: Active and not stale. */
const openRules: readonly Rule<VoteScope>[] = [
  ...mayVote,
  { error: 'InvalidProposalStatus', holds: (scope) => isActive(scope.accounts.proposal.value) },
  {
    error: 'StaleProposal',
    holds: (scope) => !isStale(scope.accounts.multisig.value, scope.accounts.proposal.value.transactionIndex),
  },
];

/** For cancelling: Approved, stale or not. */
const cancelRules: readonly Rule<VoteScope>[] = [
  ...mayVote,
  { error: 'InvalidProposalStatus', holds: (scope) => isApproved(scope.accounts.proposal.value) },
];

/** One kind of vote: its list, what a second vote raises, and what enough votes lead to. */
interface Vote {
  readonly list: 'approved' | 'rejected' | 'cancelled';
  readonly twice: SquadsError;
  readonly becomes: ProposalStatusKind;
}

const APPROVAL: Vote = { list: 'approved', twice: 'AlreadyApproved', becomes: 'Approved' };
const REJECTION: Vote = { list: 'rejected', twice: 'AlreadyRejected', becomes: 'Rejected' };
const CANCELLATION: Vote = { list: 'cancelled', twice: 'AlreadyCancelled', becomes: 'Cancelled' };

/** Adds the member's vote, sorted; with `enough` of them the status changes, and only then its timestamp. */
function cast({ accounts, invocation }: VoteScope, { list, twice, becomes }: Vote, enough: number): void {
  const { member, proposal } = accounts;
  const before = proposal.value[list];
  if (before.includes(member.address)) fail(invocation, twice);
  const votes = [...before, member.address].sort(compareKeys);
  proposal.value = { ...proposal.value, [list]: votes };
  if (votes.length >= enough) {
    proposal.value = {
      ...proposal.value,
      status: { kind: becomes, timestamp: invocation.unixTimestamp },
    };
  }
}

/** Takes keys out of one list of the proposal. */
function keepOnly(
  { value }: Loaded<Proposal>,
  list: Vote['list'],
  stays: (key: Address) => boolean,
): Proposal {
  return { ...value, [list]: value[list].filter(stays) };
}

/** Rejections after which the threshold cannot be reached any more (section 5). */
function rejectionCutoff(multisig: Multisig): number {
  const { threshold } = multisig;
  const count = voters(multisig);
  return threshold <= count ? count - threshold + 1 : panic();
}

export const proposalApprove = instruction<'proposalApprove', Accounts>({
  name: 'proposalApprove',
  accounts,
  checks: openRules,
  effect: (scope) => {
    const { multisig, member, proposal } = scope.accounts;
    proposal.value = keepOnly(proposal, 'rejected', (key) => key !== member.address);
    cast(scope, APPROVAL, multisig.value.threshold);
  },
});

export const proposalReject = instruction<'proposalReject', Accounts>({
  name: 'proposalReject',
  accounts,
  checks: openRules,
  effect: (scope) => {
    const { multisig, member, proposal } = scope.accounts;
    const cutoff = rejectionCutoff(multisig.value);
    proposal.value = keepOnly(proposal, 'approved', (key) => key !== member.address);
    cast(scope, REJECTION, cutoff);
  },
});

function cancel(scope: VoteScope): void {
  const { multisig, proposal } = scope.accounts;
  proposal.value = keepOnly(proposal, 'cancelled', (key) => isMember(multisig.value, key));
  cast(scope, CANCELLATION, multisig.value.threshold);
}

export const proposalCancel = instruction<'proposalCancel', Accounts>({
  name: 'proposalCancel',
  accounts,
  checks: cancelRules,
  effect: cancel,
});

/** Makes room for the votes of all members there are now; the member pays (section 7.9). */
function enlarge({ accounts: { multisig, member, proposal }, invocation }: VoteScope): void {
  const sizeBytes = ACCOUNT_SIZE.proposal(multisig.value.members.length);
  if (invocation.get(proposal.address).data.length >= sizeBytes) return;
  const missing = rentExemptLamports(sizeBytes) - invocation.get(proposal.address).lamports;
  if (missing > 0n) {
    invocation.invoke([transfer({ from: member.address, to: proposal.address, lamports: missing })], []);
  }
  const state = invocation.get(proposal.address);
  const data = new Uint8Array(sizeBytes);
  data.set(state.data);
  invocation.set(proposal.address, { ...state, data });
}

export const proposalCancelV2 = instruction<'proposalCancelV2', AccountsV2>({
  name: 'proposalCancelV2',
  accounts: { ...accounts, systemProgram },
  checks: cancelRules,
  effect: (scope) => {
    cancel(scope);
    enlarge(scope);
  },
});
