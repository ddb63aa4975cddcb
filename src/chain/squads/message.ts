/** The inner message of a vault or batch transaction in its two encodings, and the instructions that it runs (docs/squads-v4.md, section 3). */
import type { Address } from '../../values/address.js';
import { type ReadonlyBytes, sameBytes } from '../../values/bytes.js';
import type { AccountMeta, Instruction } from '../transaction/instruction.js';
import { orderMessageKeys } from '../transaction/wire.js';
import { blob, type Codec, encode, key, struct, tryDecode, u8, u16, u32, vec } from './codec.js';

export interface InnerInstruction {
  /** Position of the program in the index space: static keys, writable lookups, readonly lookups. */
  readonly programIndex: number;
  /** One index a byte, in the same space. */
  readonly accountIndexes: ReadonlyBytes;
  readonly data: ReadonlyBytes;
}

export interface InnerLookup {
  readonly table: Address;
  readonly writableIndexes: ReadonlyBytes;
  readonly readonlyIndexes: ReadonlyBytes;
}

export interface InnerMessage {
  readonly signers: number;
  readonly writableSigners: number;
  readonly writableNonSigners: number;
  /** Writable signers, readonly signers, writable non-signers, readonly non-signers. */
  readonly keys: readonly Address[];
  readonly instructions: readonly InnerInstruction[];
  readonly lookups: readonly InnerLookup[];
}

/** Both encodings have the same parts; they differ in how wide a count is, and how wide the length of the data. */
const messageCodec = (count: Codec<number>, dataLength: Codec<number>): Codec<InnerMessage> =>
  struct<InnerMessage>({
    signers: u8,
    writableSigners: u8,
    writableNonSigners: u8,
    keys: vec(count, key),
    instructions: vec(
      count,
      struct<InnerInstruction>({
        programIndex: u8,
        accountIndexes: blob(count),
        data: blob(dataLength),
      }),
    ),
    lookups: vec(
      count,
      struct<InnerLookup>({
        table: key,
        writableIndexes: blob(count),
        readonlyIndexes: blob(count),
      }),
    ),
  });

/** As it stands in the arguments of batchAddTransaction and vaultTransactionCreate. */
export const argumentMessage: Codec<InnerMessage> = messageCodec(u8, u16);

/** As the program stores it. */
export const storedMessage: Codec<InnerMessage> = messageCodec(u32, u32);

/** Number of keys the message takes from lookup tables. */
export const lookedUpCount = (message: InnerMessage): number =>
  message.lookups.reduce(
    (sum, lookup) => sum + lookup.writableIndexes.length + lookup.readonlyIndexes.length,
    0,
  );

/** Is static key `index` a signer? */
export const isSignerIndex = (message: InnerMessage, index: number): boolean => index < message.signers;

/** Is static key `index` writable? */
export const isWritableIndex = (message: InnerMessage, index: number): boolean =>
  index < message.writableSigners ||
  (index >= message.signers && index - message.signers < message.writableNonSigners);

/** The static keys with the rights that the message gives them. */
export const staticAccounts = (message: InnerMessage): readonly AccountMeta[] =>
  message.keys.map((address, index) => ({
    address,
    signer: isSignerIndex(message, index),
    writable: isWritableIndex(message, index),
  }));

/** The program's checks on a decoded message, in its order; each failing one is error 6006. */
export function isWellFormed(message: InnerMessage): boolean {
  const { signers, writableSigners, writableNonSigners, keys, instructions } = message;
  if (signers > keys.length) return false;
  if (writableSigners > signers) return false;
  if (writableNonSigners > keys.length - signers) return false;
  const total = keys.length + lookedUpCount(message);
  return instructions.every(
    ({ programIndex, accountIndexes }) =>
      programIndex < total && [...accountIndexes].every((index) => index < total),
  );
}

const isSameInstruction = (left: InnerInstruction, right: InnerInstruction): boolean =>
  left.programIndex === right.programIndex &&
  sameBytes(left.accountIndexes, right.accountIndexes) &&
  sameBytes(left.data, right.data);

/** Are two messages without lookup tables the same in every part, in the same order? */
export const isSameMessage = (left: InnerMessage, right: InnerMessage): boolean =>
  left.signers === right.signers &&
  left.writableSigners === right.writableSigners &&
  left.writableNonSigners === right.writableNonSigners &&
  left.keys.length === right.keys.length &&
  left.keys.every((key, index) => key === right.keys[index]) &&
  left.instructions.length === right.instructions.length &&
  left.instructions.every((one, index) =>
    isSameInstruction(one, right.instructions[index] as InnerInstruction),
  ) &&
  left.lookups.length === 0 &&
  right.lookups.length === 0;

/** Bytes of the message in the account: `15 + 32k + Σ(9 + a + d) + Σ(40 + w + r)`. */
export function storedMessageSize(message: InnerMessage): number {
  let size = 15 + 32 * message.keys.length;
  for (const { accountIndexes, data } of message.instructions)
    size += 9 + accountIndexes.length + data.length;
  for (const { writableIndexes, readonlyIndexes } of message.lookups)
    size += 40 + writableIndexes.length + readonlyIndexes.length;
  return size;
}

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
  const accounts = staticAccounts(message);
  const account = (index: number): AccountMeta => accounts[index] as AccountMeta;
  return message.instructions.map(({ programIndex, accountIndexes, data }) => ({
    program: account(programIndex).address,
    accounts: Array.from(accountIndexes, account),
    data,
  }));
}
