/** Instructions on the proposal of a batch (squads-v4.md, sections 7.3, 7.5, 7.6, 7.7 and 7.9). */
import type { Address } from '../../../values/address.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../programs.js';
import {
  type Instruction,
  readonlyAccount,
  readonlySigner,
  writableAccount,
  writableSigner,
} from '../../transaction/instruction.js';
import { proposalAddress } from '../layouts/addresses.js';
import { encodeInstruction } from '../layouts/instructions.js';
import type { BatchRef } from './batch.js';

/** What {@link proposalCreate} makes. */
export interface ProposalCreateInput extends BatchRef {
  /** A member with the right to initiate or to vote. */
  readonly creator: Address;
  readonly rentPayer: Address;
  /** A draft can still grow and cannot be voted on. */
  readonly draft: boolean;
}

/** Opens the proposal of a batch. */
export const proposalCreate = (input: ProposalCreateInput): Instruction => ({
  program: SQUADS_PROGRAM,
  accounts: [
    readonlyAccount(input.multisig),
    writableAccount(proposalAddress(input.multisig, input.batchIndex).address),
    readonlySigner(input.creator),
    writableSigner(input.rentPayer),
    readonlyAccount(SYSTEM_PROGRAM),
  ],
  data: encodeInstruction('proposalCreate', { transactionIndex: input.batchIndex, draft: input.draft }),
});

/** A member's act on the proposal of a batch. */
export interface MemberInput extends BatchRef {
  readonly member: Address;
}

const memberAccounts = (input: MemberInput) => [
  readonlyAccount(input.multisig),
  writableSigner(input.member),
  writableAccount(proposalAddress(input.multisig, input.batchIndex).address),
];

/** Ends the draft; from then on members vote. */
export const proposalActivate = (input: MemberInput): Instruction => ({
  program: SQUADS_PROGRAM,
  accounts: memberAccounts(input),
  data: encodeInstruction('proposalActivate', {}),
});

/** A member's approval. */
export const proposalApprove = (input: MemberInput): Instruction => ({
  program: SQUADS_PROGRAM,
  accounts: memberAccounts(input),
  data: encodeInstruction('proposalApprove', { memo: null }),
});

/** A member's rejection. */
export const proposalReject = (input: MemberInput): Instruction => ({
  program: SQUADS_PROGRAM,
  accounts: memberAccounts(input),
  data: encodeInstruction('proposalReject', { memo: null }),
});

/** A member's vote to cancel an approved proposal. */
export const proposalCancelV2 = (input: MemberInput): Instruction => ({
  program: SQUADS_PROGRAM,
  accounts: [...memberAccounts(input), readonlyAccount(SYSTEM_PROGRAM)],
  data: encodeInstruction('proposalCancelV2', { memo: null }),
});
