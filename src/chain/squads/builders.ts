/**
 * The Squads instructions that this project sends (docs/squads-v4.md, section 7), and votes as transactions (sections 7.5 to
 * 7.7).
 */
import type { Address } from '../../values/address.js';
import { base58Encode } from '../../values/base58.js';
import { type ReadonlyBytes, sameBytes } from '../../values/bytes.js';
import { type Instruction, type Message, staticAccounts } from '../transaction/message.js';
import {
  compileLegacyMessage,
  compileV0Message,
  decodeTransaction,
  type MessageInput,
  type WireTransaction,
} from '../transaction/wire.js';
import {
  batchTransactionAddress,
  multisigAddress,
  programConfigAddress,
  proposalAddress,
  transactionAddress,
} from './addresses.js';
import {
  type AccountValues,
  type ArgumentsOf,
  type GivenAccounts,
  type InstructionName,
  squadsInstruction,
} from './instructions.js';

interface MultisigCreateInput extends Omit<ArgumentsOf<'multisigCreateV2'>, 'memo'> {
  /** Signs once, so that no other account can take the address of the multisig. */
  readonly createKey: Address;
  readonly creator: Address;
  readonly treasury: Address;
}

export const multisigCreateV2 = ({
  createKey,
  creator,
  treasury,
  ...terms
}: MultisigCreateInput): Instruction =>
  squadsInstruction(
    'multisigCreateV2',
    {
      programConfig: programConfigAddress().address,
      treasury,
      multisig: multisigAddress(createKey).address,
      createKey,
      creator,
    },
    { ...terms, memo: null },
  );

export interface BatchRef {
  readonly multisig: Address;
  readonly batchIndex: bigint;
}

type Derived = 'multisig' | 'proposal' | 'batch' | 'transaction';

type BatchInput<Name extends InstructionName> = BatchRef &
  Omit<GivenAccounts<Name>, Derived> &
  ('transaction' extends keyof AccountValues<Name> ? { readonly number: number } : unknown);

/** @param values - arguments of the instruction. @param remaining - accounts after the listed ones. */
const ofBatch =
  <Name extends InstructionName, More = unknown>(
    name: Name,
    values: (input: BatchRef & More) => ArgumentsOf<Name>,
    remaining?: (input: More) => Instruction['accounts'],
  ) =>
  (input: BatchInput<Name> & More): Instruction => {
    const { multisig, batchIndex, number } = input as BatchRef & { readonly number?: number };
    const accounts = {
      ...input,
      proposal: proposalAddress(multisig, batchIndex).address,
      batch: transactionAddress(multisig, batchIndex).address,
      transaction: number && batchTransactionAddress(multisig, batchIndex, number).address,
    };
    return squadsInstruction(
      name,
      accounts as unknown as GivenAccounts<Name>,
      values(input),
      remaining?.(input),
    );
  };

/** Opens an empty batch; `batchIndex` must be the multisig's transaction index + 1. Only the creator may add transactions. */
export const batchCreate = ofBatch(
  'batchCreate',
  ({ vaultIndex }: { /** Vault of every transaction in the batch. */ readonly vaultIndex: number }) => ({
    vaultIndex,
    memo: null,
  }),
);

export const proposalCreate = ofBatch(
  'proposalCreate',
  ({
    batchIndex,
    draft,
  }: BatchRef & { /** A draft accepts more transactions and no votes. */ readonly draft: boolean }) => ({
    transactionIndex: batchIndex,
    draft,
  }),
);

/** Appends a transaction to a draft; `number` is the batch's size + 1. */
export const batchAddTransaction = ofBatch(
  'batchAddTransaction',
  ({
    message,
  }: {
    /** In argument form, as `vaultMessage` returns it. */ readonly message: ReadonlyBytes;
  }) => ({
    ephemeralSigners: 0,
    message,
  }),
);

export const proposalActivate = ofBatch('proposalActivate', () => ({}));
export const proposalApprove = ofBatch('proposalApprove', () => ({ memo: null }));
export const proposalReject = ofBatch('proposalReject', () => ({ memo: null }));
export const proposalCancelV2 = ofBatch('proposalCancelV2', () => ({ memo: null }));

interface ExecuteInput {
  /** The acting vault; the program signs for it, so the outer instruction does not. */
  readonly vault: Address;
  /** The message of the executed transaction; without lookup tables. */
  readonly message: Message;
}

/** Executes the next transaction of an approved batch; `number` is the number of executed ones + 1. */
export const batchExecuteTransaction = ofBatch(
  'batchExecuteTransaction',
  () => ({}),
  ({ vault, message }: ExecuteInput) =>
    staticAccounts(message).map((account) =>
      account.address === vault ? { ...account, signer: false } : account,
    ),
);

/** Closes the last transaction of a finished batch; `number` is the batch's size. Needs no signature. */
export const vaultBatchTransactionAccountClose = ofBatch('vaultBatchTransactionAccountClose', () => ({}));

/** Closes an empty batch and its proposal. Needs no signature. */
export const batchAccountsClose = ofBatch('batchAccountsClose', () => ({}));

/** `reject` votes before approval, `cancel` after it. */
export type VoteKind = 'approve' | 'reject' | 'cancel';

export const VOTES = {
  approve: { noun: 'approval', instruction: 'proposalApprove', build: proposalApprove },
  reject: { noun: 'rejection', instruction: 'proposalReject', build: proposalReject },
  cancel: { noun: 'cancellation', instruction: 'proposalCancelV2', build: proposalCancelV2 },
} as const satisfies Record<VoteKind, object>;

interface MemberInput extends BatchRef {
  readonly member: Address;
}

export const voteInstruction = (kind: VoteKind, input: MemberInput): Instruction => VOTES[kind].build(input);

/** A message with one vote and no other instruction, apart from a limit and a price of compute units. */
export interface VoteMessageInput extends MemberInput {
  readonly kind: VoteKind;
  readonly payer: Address;
  readonly blockhash: string;
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

/** The vote as a version 0 message, the form that is handed out for signing. */
export const voteMessage = (input: VoteMessageInput): Uint8Array => compileV0Message(voteTransaction(input));

/** Whether the bytes are exactly this vote, as version 0 or legacy. */
export const isVoteMessage = (messageBytes: ReadonlyBytes, input: VoteMessageInput): boolean =>
  sameBytes(voteMessage(input), messageBytes) ||
  sameBytes(compileLegacyMessage(voteTransaction(input)), messageBytes);

export interface DecodedApproval extends WireTransaction {
  readonly bytes: Uint8Array;
  /** Base58 of the first signature; the transaction's name on chain once the payer has signed. */
  readonly signature: string | undefined;
  readonly payer: Address | undefined;
  readonly blockhash: string;
}

/**
 * Does not check that the transaction is a vote.
 * @throws `ERR_INVALID_REQUEST` for bytes that are not a transaction.
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
