/** The Squads instructions that this project sends (docs/squads-v4.md, section 7). */
import type { Address } from '../../values/address.js';
import { type Instruction, type Message, staticAccounts } from '../transaction/message.js';
import {
  batchTransactionAddress,
  multisigAddress,
  programConfigAddress,
  proposalAddress,
  transactionAddress,
} from './addresses.js';
import { type Given, type InstructionName, squadsInstruction } from './instructions.js';

export interface BatchRef {
  readonly multisig: Address;
  readonly batchIndex: bigint;
}

/** What follows from the batch and the number of its transaction, which counts from 1. */
const derivedFrom = ({ multisig, batchIndex, number = 0 }: BatchRef & { readonly number?: number }) => ({
  ...{ transactionIndex: batchIndex, memo: null, ephemeralSigners: 0 },
  proposal: proposalAddress(multisig, batchIndex).address,
  batch: transactionAddress(multisig, batchIndex).address,
  transaction: batchTransactionAddress(multisig, batchIndex, number).address,
});

/** The batch, and the accounts and arguments that do not follow from it. */
type Input<Name extends InstructionName> = BatchRef &
  Omit<Given<Name>, keyof ReturnType<typeof derivedFrom>> &
  ('transaction' extends keyof Given<Name> ? { readonly number: number } : unknown);

const builder =
  <Name extends InstructionName>(name: Name) =>
  (input: Input<Name>): Instruction =>
    squadsInstruction(name, { ...input, ...derivedFrom(input) } as unknown as Given<Name>);

/** `createKey` signs once, so that no other account can take the address of the multisig. */
export const multisigCreateV2 = (
  input: Omit<Given<'multisigCreateV2'>, 'memo' | 'programConfig' | 'multisig'>,
): Instruction =>
  squadsInstruction('multisigCreateV2', {
    ...{ ...input, memo: null },
    programConfig: programConfigAddress().address,
    multisig: multisigAddress(input.createKey).address,
  });

/**
 * Opens an empty batch; `batchIndex` must be the multisig's transaction index + 1. Only the creator may add transactions.
 * All of them act for this vault.
 */
export const batchCreate = builder('batchCreate');

/** A draft accepts more transactions and no votes. */
export const proposalCreate = builder('proposalCreate');

/** Appends a transaction, its message in argument form, to a draft; `number` is the batch's size + 1. */
export const batchAddTransaction = builder('batchAddTransaction');

export const proposalActivate = builder('proposalActivate');
export const proposalApprove = builder('proposalApprove');
export const proposalReject = builder('proposalReject');
export const proposalCancelV2 = builder('proposalCancelV2');

/**
 * Executes the next transaction of an approved batch; `number` is the number of executed ones + 1. The program signs for the
 * vault, so the outer instruction does not.
 * @param input - `message` of the executed transaction; without lookup tables.
 */
export const batchExecuteTransaction = (
  input: Input<'batchExecuteTransaction'> & { readonly vault: Address; readonly message: Message },
): Instruction =>
  squadsInstruction(
    'batchExecuteTransaction',
    { ...input, ...derivedFrom(input) },
    staticAccounts(input.message).map((account) =>
      account.address === input.vault ? { ...account, signer: false } : account,
    ),
  );

/** Closes the last transaction of a finished batch; `number` is the batch's size. Needs no signature. */
export const vaultBatchTransactionAccountClose = builder('vaultBatchTransactionAccountClose');

/** Closes an empty batch and its proposal. Needs no signature. */
export const batchAccountsClose = builder('batchAccountsClose');

/** `reject` votes before approval, `cancel` after it. */
export const VOTES = {
  approve: { noun: 'approval', instruction: 'proposalApprove', build: proposalApprove },
  reject: { noun: 'rejection', instruction: 'proposalReject', build: proposalReject },
  cancel: { noun: 'cancellation', instruction: 'proposalCancelV2', build: proposalCancelV2 },
} as const;
