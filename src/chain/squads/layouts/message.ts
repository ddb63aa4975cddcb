/** The inner message of a vault or batch transaction in its two encodings (squads-v4.md, section 3), and what its numbers mean. */
import type { Address } from '../../../values/address.js';
import { type ReadonlyBytes, sameBytes } from '../../../values/bytes.js';
import { blob, type Codec, key, struct, u8, u16, u32, vec } from './codec.js';

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

/** Bytes of the message in the arguments: `6 + 32k + Σ(4 + a + d) + Σ(34 + w + r)`. */
export const argumentMessageSize = (message: InnerMessage): number => sizeWith(message, 6, 4, 34);

/** Bytes of the message in the account: `15 + 32k + Σ(9 + a + d) + Σ(40 + w + r)`. */
export const storedMessageSize = (message: InnerMessage): number => sizeWith(message, 15, 9, 40);

function sizeWith(message: InnerMessage, head: number, perInstruction: number, perLookup: number): number {
  let size = head + 32 * message.keys.length;
  for (const { accountIndexes, data } of message.instructions) {
    size += perInstruction + accountIndexes.length + data.length;
  }
  for (const { writableIndexes, readonlyIndexes } of message.lookups) {
    size += perLookup + writableIndexes.length + readonlyIndexes.length;
  }
  return size;
}
