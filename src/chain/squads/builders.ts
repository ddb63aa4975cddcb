/** The Squads instructions that this project sends (docs/squads-v4.md, section 7). */
import type { Address } from '../../values/address.js';
import type { ReadonlyBytes } from '../../values/bytes.js';
import type { Instruction } from '../transaction/instruction.js';
import { type Message, staticAccounts } from '../transaction/message.js';
import {
  batchTransactionAddress,
  multisigAddress,
  programConfigAddress,
  proposalAddress,
  transactionAddress,
} from './addresses.js';
import { type ArgumentsOf, squadsInstruction } from './instructions.js';

/** What {@link multisigCreateV2} sets up. */
interface MultisigCreateInput extends Omit<ArgumentsOf<'multisigCreateV2'>, 'memo'> {
  /** Signs once, so that nobody else can take the multisig's address. */
  readonly createKey: Address;
  /** Pays rent and creation fee. */
  readonly creator: Address;
  /** The treasury that the program's configuration names. */
  readonly treasury: Address;
}

/** Creates the multisig of a create key. */
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

/** A batch of a multisig. */
export interface BatchRef {
  readonly multisig: Address;
  /** Its place in the multisig's count of transactions. */
  readonly batchIndex: bigint;
}

/** The accounts that belong to a batch. */
const accountsOf = ({ multisig, batchIndex }: BatchRef) => ({
  multisig,
  proposal: proposalAddress(multisig, batchIndex).address,
  batch: transactionAddress(multisig, batchIndex).address,
});

const numbered = ({ multisig, batchIndex, number }: BatchRef & { readonly number: number }): Address =>
  batchTransactionAddress(multisig, batchIndex, number).address;

/** Opens an empty batch; `batchIndex` must be the multisig's transaction index + 1. */
export const batchCreate = (
  input: BatchRef & {
    /** A member with the right to initiate; alone may add to the batch. */
    readonly creator: Address;
    readonly rentPayer: Address;
    /** The vault that all transactions of the batch act for. */
    readonly vaultIndex: number;
  },
): Instruction =>
  squadsInstruction(
    'batchCreate',
    { ...accountsOf(input), creator: input.creator, rentPayer: input.rentPayer },
    { vaultIndex: input.vaultIndex, memo: null },
  );

/** Opens the proposal of a batch. */
export const proposalCreate = (
  input: BatchRef & {
    /** A member with the right to initiate or to vote. */
    readonly creator: Address;
    readonly rentPayer: Address;
    /** A draft can still grow and cannot be voted on. */
    readonly draft: boolean;
  },
): Instruction =>
  squadsInstruction(
    'proposalCreate',
    { ...accountsOf(input), creator: input.creator, rentPayer: input.rentPayer },
    { transactionIndex: input.batchIndex, draft: input.draft },
  );

/** Appends a transaction to a batch whose proposal is a draft. */
export const batchAddTransaction = (
  input: BatchRef & {
    /** The batch's size + 1. */
    readonly number: number;
    /** The batch's creator. */
    readonly member: Address;
    readonly rentPayer: Address;
    /** In argument form, as `vaultMessage` makes it. */
    readonly message: ReadonlyBytes;
  },
): Instruction =>
  squadsInstruction(
    'batchAddTransaction',
    { ...accountsOf(input), transaction: numbered(input), member: input.member, rentPayer: input.rentPayer },
    { ephemeralSigners: 0, message: input.message },
  );

/** A member's act on the proposal of a batch. */
export interface MemberInput extends BatchRef {
  readonly member: Address;
}

const actOf = (input: MemberInput) => ({ ...accountsOf(input), member: input.member });

/** Ends the draft; from then on members vote. */
export const proposalActivate = (input: MemberInput): Instruction =>
  squadsInstruction('proposalActivate', actOf(input), {});

export const proposalApprove = (input: MemberInput): Instruction =>
  squadsInstruction('proposalApprove', actOf(input), { memo: null });

export const proposalReject = (input: MemberInput): Instruction =>
  squadsInstruction('proposalReject', actOf(input), { memo: null });

/** A member's vote to cancel an approved proposal. */
export const proposalCancelV2 = (input: MemberInput): Instruction =>
  squadsInstruction('proposalCancelV2', actOf(input), { memo: null });

/** Runs the next transaction of an approved batch. */
export const batchExecuteTransaction = (
  input: MemberInput & {
    /** The batch's executed transactions + 1. */
    readonly number: number;
    /** The vault that acts; signs by the program, not from outside. */
    readonly vault: Address;
    /** Of the transaction that is run; without lookup tables. */
    readonly message: Message;
  },
): Instruction =>
  squadsInstruction(
    'batchExecuteTransaction',
    { ...actOf(input), transaction: numbered(input) },
    {},
    staticAccounts(input.message).map((account) =>
      account.address === input.vault ? { ...account, signer: false } : account,
    ),
  );

/** What the closing instructions need; nobody's signature. */
interface CloseInput extends BatchRef {
  /** The multisig's rent collector. */
  readonly rentCollector: Address;
}

/** Closes the last transaction of a batch that is over; `number` is the batch's size. */
export const vaultBatchTransactionAccountClose = (
  input: CloseInput & { readonly number: number },
): Instruction =>
  squadsInstruction(
    'vaultBatchTransactionAccountClose',
    { ...accountsOf(input), transaction: numbered(input), rentCollector: input.rentCollector },
    {},
  );

/** Closes a batch without transactions, and its proposal. */
export const batchAccountsClose = (input: CloseInput): Instruction =>
  squadsInstruction('batchAccountsClose', { ...accountsOf(input), rentCollector: input.rentCollector }, {});
