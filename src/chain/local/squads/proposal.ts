/** The life of a proposal: creation, activation, votes (docs/squads-v4.md, sections 6 and 7.3, 7.5 to 7.9). */
import {
  ACCOUNT_SIZE,
  type Multisig,
  PERMISSION,
  type Proposal,
  type ProposalStatusKind,
  votersOf,
} from '../../squads/accounts.js';
import { SEEDS } from '../../squads/addresses.js';
import type { SquadsError } from '../../transaction/program-errors.js';
import {
  checkMember,
  checkMultisig,
  checkNotStale,
  checkProposal,
  checkStatus,
  checkWritable,
  ensure,
  inStatus,
  isMember,
  type Loaded,
  makeAccount,
  panic,
  type SquadsCall,
  searchKey,
  topUp,
} from './rules.js';

export function proposalCreate({ accounts, args, invocation }: SquadsCall<'proposalCreate'>): void {
  const { multisig, proposal, creator, rentPayer } = accounts;
  const { transactionIndex, draft } = args;
  const bump = makeAccount(invocation, proposal, {
    seeds: SEEDS.proposal(multisig.address, transactionIndex),
    payer: rentPayer,
    size: () => ACCOUNT_SIZE.proposal(multisig.value.members.length),
  });
  checkMultisig(multisig);
  checkWritable(rentPayer);
  ensure(transactionIndex <= multisig.value.transactionIndex, 'InvalidTransactionIndex');
  checkNotStale(multisig, transactionIndex);
  checkMember(multisig, creator, PERMISSION.initiate | PERMISSION.vote);
  proposal.value = {
    multisig: multisig.address,
    transactionIndex,
    status: { kind: draft ? 'Draft' : 'Active', timestamp: invocation.unixTimestamp },
    bump,
    approved: [],
    rejected: [],
    cancelled: [],
  };
}

type MemberCall = SquadsCall<'proposalActivate' | 'proposalApprove'>;

export function checkVoteAccounts({ multisig, member, proposal }: MemberCall['accounts']): void {
  checkMultisig(multisig);
  checkWritable(member);
  checkProposal(proposal, multisig);
}

function checkAct({ accounts }: MemberCall, permission: number): void {
  checkVoteAccounts(accounts);
  checkMember(accounts.multisig, accounts.member, permission);
}

export function proposalActivate(call: SquadsCall<'proposalActivate'>): void {
  const { multisig, proposal } = call.accounts;
  checkAct(call, PERMISSION.initiate);
  checkStatus(proposal, 'Draft');
  checkNotStale(multisig, proposal.value.transactionIndex);
  proposal.value = inStatus(proposal.value, 'Active', call.invocation);
}

type List = 'approved' | 'rejected' | 'cancelled';

function withoutVote({ value }: Loaded<Proposal>, list: List, { address }: Loaded): Proposal {
  const place = searchKey(value[list], address);
  return { ...value, [list]: value[list].filter((_, at) => at !== place) };
}

/** Adds the vote in key order. With `enough` votes the status changes; the timestamp changes only with the status. */
function cast(
  { accounts: { member, proposal }, invocation }: MemberCall,
  vote: { list: List; twice: SquadsError; becomes: ProposalStatusKind; enough: number },
): void {
  const before = proposal.value[vote.list];
  const place = -1 - searchKey(before, member.address);
  ensure(place >= 0, vote.twice);
  const votes = before.toSpliced(place, 0, member.address);
  proposal.value = { ...proposal.value, [vote.list]: votes };
  if (votes.length >= vote.enough) proposal.value = inStatus(proposal.value, vote.becomes, invocation);
}

function checkOpen(call: MemberCall): void {
  const { multisig, proposal } = call.accounts;
  checkAct(call, PERMISSION.vote);
  checkStatus(proposal, 'Active');
  checkNotStale(multisig, proposal.value.transactionIndex);
}

export function proposalApprove(call: SquadsCall<'proposalApprove'>): void {
  const { multisig, member, proposal } = call.accounts;
  checkOpen(call);
  proposal.value = withoutVote(proposal, 'rejected', member);
  const enough = multisig.value.threshold;
  cast(call, { list: 'approved', twice: 'AlreadyApproved', becomes: 'Approved', enough });
}

/** Number of rejections that makes the threshold unreachable (section 5). */
function rejectionCutoff(multisig: Multisig): number {
  const count = votersOf(multisig).length;
  return multisig.threshold <= count ? count - multisig.threshold + 1 : panic();
}

export function proposalReject(call: SquadsCall<'proposalReject'>): void {
  const { multisig, member, proposal } = call.accounts;
  checkOpen(call);
  const enough = rejectionCutoff(multisig.value);
  proposal.value = withoutVote(proposal, 'approved', member);
  cast(call, { list: 'rejected', twice: 'AlreadyRejected', becomes: 'Rejected', enough });
}

/** Accepts an Approved proposal, stale or not. */
export function proposalCancel(call: SquadsCall<'proposalCancel' | 'proposalCancelV2'>): void {
  const { multisig, proposal } = call.accounts;
  checkAct(call, PERMISSION.vote);
  checkStatus(proposal, 'Approved');
  const cancelled = proposal.value.cancelled.filter((key) => isMember(multisig.value, key));
  proposal.value = { ...proposal.value, cancelled };
  const enough = multisig.value.threshold;
  cast(call, { list: 'cancelled', twice: 'AlreadyCancelled', becomes: 'Cancelled', enough });
}

/** Grows the account to fit the votes of all current members; the member pays. */
export function proposalCancelV2(call: SquadsCall<'proposalCancelV2'>): void {
  proposalCancel(call);
  const { accounts, invocation } = call;
  const { address } = accounts.proposal;
  const sizeBytes = ACCOUNT_SIZE.proposal(accounts.multisig.value.members.length);
  if (invocation.get(address).data.length >= sizeBytes) return;
  topUp(invocation, { from: accounts.member.address, account: address, sizeBytes });
  const state = invocation.get(address);
  const data = new Uint8Array(sizeBytes);
  data.set(state.data);
  invocation.set(address, { ...state, data });
}
