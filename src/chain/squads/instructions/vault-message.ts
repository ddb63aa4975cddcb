/** Instructions ⇄ the inner message that a vault runs (squads-v4.md, section 3); no lookup tables. */
import type { Address } from '../../../values/address.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';
import type { Instruction } from '../../transaction/instruction.js';
import { orderMessageKeys } from '../../transaction/message-keys.js';
import { encode, tryDecode } from '../layouts/codec.js';
import {
  argumentMessage,
  type InnerInstruction,
  type InnerMessage,
  isSignerIndex,
  isWellFormed,
  isWritableIndex,
} from '../layouts/message.js';

/** The message that makes `vault` run these instructions: the vault first, then keys as first met. */
export function vaultInnerMessage(vault: Address, instructions: readonly Instruction[]): InnerMessage {
  const { keys, indexOf, signers, writableSigners, writableNonSigners } = orderMessageKeys(
    vault,
    instructions,
  );
  return {
    signers,
    writableSigners,
    writableNonSigners,
    keys,
    instructions: instructions.map(({ program, accounts, data }) => ({
      programIndex: indexOf.get(program) ?? 0,
      accountIndexes: Uint8Array.from(accounts, ({ address }) => indexOf.get(address) ?? 0),
      data,
    })),
    lookups: [],
  };
}

/** The same message as bytes in argument form, as batchAddTransaction takes it. */
export const vaultMessage = (vault: Address, instructions: readonly Instruction[]): Uint8Array =>
  encode(argumentMessage, vaultInnerMessage(vault, instructions));

/** Bytes in argument form as a message, or `undefined` if malformed. */
export const decodeVaultMessage = (bytes: ReadonlyBytes): InnerMessage | undefined =>
  tryDecode(argumentMessage, bytes);

/**
 * The instructions that a message runs; rights of accounts are those of the message, so the union over its instructions.
 * `undefined` when the message is malformed or takes keys from lookup tables, which say nothing without the chain.
 */
export function vaultMessageInstructions(message: InnerMessage): readonly Instruction[] | undefined {
  if (!isWellFormed(message) || message.lookups.length > 0) return undefined;
  const key = (index: number): Address => message.keys[index] as Address;
  return message.instructions.map(({ programIndex, accountIndexes, data }: InnerInstruction) => ({
    program: key(programIndex),
    accounts: Array.from(accountIndexes, (index) => ({
      address: key(index),
      signer: isSignerIndex(message, index),
      writable: isWritableIndex(message, index),
    })),
    data,
  }));
}
