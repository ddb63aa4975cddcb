/** Instructions that make, fill, run and close a batch (squads-v4.md, sections 7.2, 7.4, 7.10, 7.12 and 7.13). */
import type { Address } from '../../../values/address.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../programs.js';
import {
  type AccountMeta,
  type Instruction,
  readonlyAccount,
  readonlySigner,
  writableAccount,
  writableSigner,
} from '../../transaction/instruction.js';
import { batchTransactionAddress, proposalAddress, transactionAddress } from '../layouts/addresses.js';
import { encodeInstruction } from '../layouts/instructions.js';
import { type InnerMessage, isSignerIndex, isWritableIndex } from '../layouts/message.js';

/** A batch of a multisig. */
export interface BatchRef {
  readonly multisig: Address;
  /** Its place in the multisig's count of transactions. */
  readonly batchIndex: bigint;
}

/** What {@link batchCreate} makes. */
export interface BatchCreateInput extends BatchRef {
  /** A member with the right to initiate; alone may add to the batch. */
  readonly creator: Address;
  readonly rentPayer: Address;
  /** The vault that all transactions of the batch act for. */
  readonly vaultIndex: number;
}

/** Opens an empty batch; `batchIndex` must be the multisig's transaction index + 1. */
export const batchCreate = (input: BatchCreateInput): Instruction => ({
  program: SQUADS_PROGRAM,
  accounts: [
    writableAccount(input.multisig),
    writableAccount(transactionAddress(input.multisig, input.batchIndex).address),
    readonlySigner(input.creator),
    writableSigner(input.rentPayer),
    readonlyAccount(SYSTEM_PROGRAM),
  ],
  data: encodeInstruction('batchCreate', { vaultIndex: input.vaultIndex, memo: null }),
});

/** What {@link batchAddTransaction} adds. */
export interface BatchAddInput extends BatchRef {
  /** The batch's size + 1. */
  readonly number: number;
  /** The batch's creator. */
  readonly member: Address;
  readonly rentPayer: Address;
  /** In argument form, as `vaultMessage` makes it. */
  readonly message: ReadonlyBytes;
}

/** Appends a transaction to a batch whose proposal is a draft. */
export const batchAddTransaction = (input: BatchAddInput): Instruction => ({
  program: SQUADS_PROGRAM,
  accounts: [
    readonlyAccount(input.multisig),
    readonlyAccount(proposalAddress(input.multisig, input.batchIndex).address),
    writableAccount(transactionAddress(input.multisig, input.batchIndex).address),
    writableAccount(batchTransactionAddress(input.multisig, input.batchIndex, input.number).address),
    readonlySigner(input.member),
    writableSigner(input.rentPayer),
    readonlyAccount(SYSTEM_PROGRAM),
  ],
  data: encodeInstruction('batchAddTransaction', { ephemeralSigners: 0, message: input.message }),
});

/** What {@link batchExecuteTransaction} runs. */
export interface BatchExecuteInput extends BatchRef {
  /** The batch's executed transactions + 1. */
  readonly number: number;
  /** A member with the right to execute. */
  readonly member: Address;
  /** The vault that acts; signs by the program, not from outside. */
  readonly vault: Address;
  /** Of the transaction that is run; without lookup tables. */
  readonly message: InnerMessage;
}

/** The accounts that a message needs when it runs, in its order (squads-v4.md, section 8). */
function messageAccounts(message: InnerMessage, vault: Address): readonly AccountMeta[] {
  return message.keys.map((address, index) => ({
    address,
    signer: isSignerIndex(message, index) && address !== vault,
    writable: isWritableIndex(message, index),
  }));
}

/** Runs the next transaction of an approved batch. */
export const batchExecuteTransaction = (input: BatchExecuteInput): Instruction => ({
  program: SQUADS_PROGRAM,
  accounts: [
    readonlyAccount(input.multisig),
    readonlySigner(input.member),
    writableAccount(proposalAddress(input.multisig, input.batchIndex).address),
    writableAccount(transactionAddress(input.multisig, input.batchIndex).address),
    readonlyAccount(batchTransactionAddress(input.multisig, input.batchIndex, input.number).address),
    ...messageAccounts(input.message, input.vault),
  ],
  data: encodeInstruction('batchExecuteTransaction', {}),
});

/** What the closing instructions need. */
export interface CloseInput extends BatchRef {
  /** The multisig's rent collector. */
  readonly rentCollector: Address;
}

/** Closes the last transaction of a batch that is over; `number` is the batch's size. Needs nobody's signature. */
export const vaultBatchTransactionAccountClose = (
  input: CloseInput & { readonly number: number },
): Instruction => ({
  program: SQUADS_PROGRAM,
  accounts: [
    readonlyAccount(input.multisig),
    readonlyAccount(proposalAddress(input.multisig, input.batchIndex).address),
    writableAccount(transactionAddress(input.multisig, input.batchIndex).address),
    writableAccount(batchTransactionAddress(input.multisig, input.batchIndex, input.number).address),
    writableAccount(input.rentCollector),
    readonlyAccount(SYSTEM_PROGRAM),
  ],
  data: encodeInstruction('vaultBatchTransactionAccountClose', {}),
});

/** Closes a batch without transactions, and its proposal. Needs nobody's signature. */
export const batchAccountsClose = (input: CloseInput): Instruction => ({
  program: SQUADS_PROGRAM,
  accounts: [
    readonlyAccount(input.multisig),
    writableAccount(proposalAddress(input.multisig, input.batchIndex).address),
    writableAccount(transactionAddress(input.multisig, input.batchIndex).address),
    writableAccount(input.rentCollector),
    readonlyAccount(SYSTEM_PROGRAM),
  ],
  data: encodeInstruction('batchAccountsClose', {}),
});
