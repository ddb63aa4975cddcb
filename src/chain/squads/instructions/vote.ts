/** The votes of a member on the proposal of a batch (squads-v4.md, sections 7.5 to 7.7). */
import type { Instruction } from '../../transaction/instruction.js';
import { type MemberInput, proposalApprove, proposalCancelV2, proposalReject } from './proposal.js';

/** `cancel` is a vote against what has been approved, `reject` against what has not. */
export type VoteKind = 'approve' | 'reject' | 'cancel';

/** What each is called, by people and by the program. */
export const VOTES = {
  approve: { noun: 'approval', instruction: 'proposalApprove' },
  reject: { noun: 'rejection', instruction: 'proposalReject' },
  cancel: { noun: 'cancellation', instruction: 'proposalCancelV2' },
} as const satisfies Record<VoteKind, { readonly noun: string; readonly instruction: string }>;

const BUILDERS: Readonly<Record<VoteKind, (input: MemberInput) => Instruction>> = {
  approve: proposalApprove,
  reject: proposalReject,
  cancel: proposalCancelV2,
};

/** A vote as an instruction. */
export const voteInstruction = (kind: VoteKind, input: MemberInput): Instruction => BUILDERS[kind](input);
