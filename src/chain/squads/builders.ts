/** The Squads instructions that this project sends (docs/squads-v4.md, section 7). */
import type { Address } from '../../values/address.js';
import type { ReadonlyBytes } from '../../values/bytes.js';
import { type Instruction, type Message, staticAccounts } from '../transaction/message.js';
import {
  batchTransactionAddress,
  multisigAddress,
  programConfigAddress,
  proposalAddress,
  transactionAddress,
} from './addresses.js';
import { type ArgumentsOf, squadsInstruction } from './instructions.js';

type Roles<Role extends string> = Readonly<Record<Role, Address>>;

/** `createKey` signs once, so that no other account can take the address of the multisig. */
export const multisigCreateV2 = (
  input: Roles<'createKey' | 'creator' | 'treasury'> & Omit<ArgumentsOf<'multisigCreateV2'>, 'memo'>,
): Instruction =>
  squadsInstruction('multisigCreateV2', {
    ...{ ...input, memo: null },
    programConfig: programConfigAddress().address,
    multisig: multisigAddress(input.createKey).address,
  });

export interface BatchRef {
  readonly multisig: Address;
  readonly batchIndex: bigint;
}

const placesOf = ({ multisig, batchIndex }: BatchRef) => ({
  proposal: proposalAddress(multisig, batchIndex).address,
  batch: transactionAddress(multisig, batchIndex).address,
});

interface TransactionRef extends BatchRef {
  /** In the batch, from 1. */
  readonly number: number;
}

const transactionPlacesOf = ({ multisig, batchIndex, number }: TransactionRef) => ({
  ...placesOf({ multisig, batchIndex }),
  transaction: batchTransactionAddress(multisig, batchIndex, number).address,
});

/**
 * Opens an empty batch; `batchIndex` must be the multisig's transaction index + 1. Only the creator may add transactions.
 * All of them act for this vault.
 */
export const batchCreate = (
  input: BatchRef & Roles<'creator' | 'rentPayer'> & { readonly vaultIndex: number },
): Instruction => squadsInstruction('batchCreate', { ...input, ...placesOf(input), memo: null });

/** A draft accepts more transactions and no votes. */
export const proposalCreate = (
  input: BatchRef & Roles<'creator' | 'rentPayer'> & { readonly draft: boolean },
): Instruction =>
  squadsInstruction('proposalCreate', {
    ...{ ...input, ...placesOf(input) },
    transactionIndex: input.batchIndex,
  });

/**
 * Appends a transaction to a draft; `number` is the batch's size + 1.
 * @param input - `message` in argument form, as `encodeVaultMessage` returns it.
 */
export const batchAddTransaction = (
  input: TransactionRef & Roles<'member' | 'rentPayer'> & { readonly message: ReadonlyBytes },
): Instruction =>
  squadsInstruction('batchAddTransaction', { ...input, ...transactionPlacesOf(input), ephemeralSigners: 0 });

type MemberInput = BatchRef & Roles<'member'>;

export const proposalActivate = (input: MemberInput): Instruction =>
  squadsInstruction('proposalActivate', { ...input, ...placesOf(input) });

const vote =
  (name: 'proposalApprove' | 'proposalReject' | 'proposalCancelV2') =>
  (input: MemberInput): Instruction =>
    squadsInstruction(name, { ...input, ...placesOf(input), memo: null });

export const proposalApprove = vote('proposalApprove');
export const proposalReject = vote('proposalReject');
export const proposalCancelV2 = vote('proposalCancelV2');

/**
 * Executes the next transaction of an approved batch; `number` is the number of executed ones + 1. The program signs for the
 * vault, so the outer instruction does not.
 * @param input - `message` of the executed transaction; without lookup tables.
 */
export const batchExecuteTransaction = (
  input: TransactionRef & Roles<'member' | 'vault'> & { readonly message: Message },
): Instruction =>
  squadsInstruction(
    'batchExecuteTransaction',
    { ...input, ...transactionPlacesOf(input) },
    staticAccounts(input.message).map((account) =>
      account.address === input.vault ? { ...account, signer: false } : account,
    ),
  );

/** Closes the last transaction of a finished batch; `number` is the batch's size. Needs no signature. */
export const vaultBatchTransactionAccountClose = (
  input: TransactionRef & Roles<'rentCollector'>,
): Instruction =>
  squadsInstruction('vaultBatchTransactionAccountClose', { ...input, ...transactionPlacesOf(input) });

/** Closes an empty batch and its proposal. Needs no signature. */
export const batchAccountsClose = (input: BatchRef & Roles<'rentCollector'>): Instruction =>
  squadsInstruction('batchAccountsClose', { ...input, ...placesOf(input) });

/** `reject` votes before approval, `cancel` after it. */
export type VoteKind = keyof typeof VOTES;

export const VOTES = {
  approve: { noun: 'approval', instruction: 'proposalApprove', build: proposalApprove },
  reject: { noun: 'rejection', instruction: 'proposalReject', build: proposalReject },
  cancel: { noun: 'cancellation', instruction: 'proposalCancelV2', build: proposalCancelV2 },
} as const;
