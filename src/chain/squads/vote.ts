/** The votes of a member on the proposal of a batch (squads-v4.md, sections 7.5 to 7.7). */
import type { Address } from '../../values/address.js';
import { base58Encode } from '../../values/base58.js';
import { type ReadonlyBytes, sameBytes } from '../../values/bytes.js';
import type { Instruction } from '../transaction/instruction.js';
import {
  compileLegacyMessage,
  compileV0Message,
  decodeTransaction,
  type MessageInput,
  type WireTransaction,
} from '../transaction/wire.js';
import { type MemberInput, proposalApprove, proposalCancelV2, proposalReject } from './builders.js';

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

/** A vote as a message: that one instruction, and nothing else but a limit and a price of compute units. */
export interface VoteMessageInput extends MemberInput {
  readonly kind: VoteKind;
  readonly payer: Address;
  /** Base58. */
  readonly blockhash: string;
  /** @default none */
  readonly budget?: readonly Instruction[];
}

const voteTransaction = ({
  kind,
  payer,
  blockhash,
  budget = [],
  ...input
}: VoteMessageInput): MessageInput => ({
  payer,
  blockhash,
  instructions: [...budget, voteInstruction(kind, input)],
});

/** The form in which votes are handed out: version 0. */
export const voteMessage = (input: VoteMessageInput): Uint8Array => compileV0Message(voteTransaction(input));

/** Is this the message of such a vote, as version 0 or legacy? */
export const isVoteMessage = (messageBytes: ReadonlyBytes, input: VoteMessageInput): boolean =>
  sameBytes(voteMessage(input), messageBytes) ||
  sameBytes(compileLegacyMessage(voteTransaction(input)), messageBytes);

/** The bytes of an approval, or of another vote, and what they hold; decoded once, and passed on as this from then on. */
export interface DecodedApproval extends WireTransaction {
  readonly bytes: Uint8Array;
  /** Base58; the name of the transaction on chain once its payer has signed. */
  readonly signature: string | undefined;
  readonly payer: Address | undefined;
  /** Base58. */
  readonly blockhash: string;
}

/**
 * Whether it is a vote at all is looked at by others.
 * @throws `ERR_INVALID_REQUEST` for bytes that are no transaction.
 */
export function decodeApproval(bytes: Uint8Array): DecodedApproval {
  const transaction = decodeTransaction(bytes);
  const { signatures, message } = transaction;
  const [signature] = signatures;
  return {
    ...transaction,
    bytes,
    signature: signature && base58Encode(signature),
    payer: message.staticKeys[0],
    blockhash: base58Encode(message.blockhash),
  };
}
