/**
 * The message of a vault or batch transaction in its two encodings, and the instructions in it (docs/squads-v4.md, section 3).
 */
import { type ReadonlyBytes, sameBytes } from '../../values/bytes.js';
import { type Codec, encode, key, struct, tryDecode, u8, u16, u32, vec } from '../codec.js';
import {
  type Instruction,
  instructionsCodec,
  instructionsOf,
  lookedUp,
  lookupsCodec,
  type Message,
  staticAccounts,
} from '../transaction/message.js';

/** The two encodings differ only in the width of counts and of the data length. */
const messageCodec = (count: Codec<number>, dataLength: Codec<number>): Codec<Message> =>
  struct<Message>({
    signers: u8,
    writableSigners: u8,
    writableNonSigners: u8,
    staticKeys: vec(count, key),
    instructions: instructionsCodec(count, dataLength),
    lookups: lookupsCodec(count),
  });

/** Encoding in the arguments of batchAddTransaction and vaultTransactionCreate. */
const argumentMessage: Codec<Message> = messageCodec(u8, u16);

/** Encoding in the accounts of the program. */
export const storedMessage: Codec<Message> = messageCodec(u32, u32);

export const lookedUpCount = (message: Message): number =>
  lookedUp(message, 'writableIndexes') + lookedUp(message, 'readonlyIndexes');

/** The program's checks on a decoded message, in its order; a failure is error 6006. */
export function isWellFormed(message: Message): boolean {
  const { signers, writableSigners, writableNonSigners, staticKeys, instructions } = message;
  if (signers > staticKeys.length) return false;
  if (writableSigners > signers) return false;
  if (writableNonSigners > staticKeys.length - signers) return false;
  const total = staticKeys.length + lookedUpCount(message);
  return instructions.every(
    ({ programIndex, accountIndexes }) =>
      programIndex < total && [...accountIndexes].every((index) => index < total),
  );
}

/** Whether two messages are equal in every part and order. Messages with lookup tables never are. */
export const isSameMessage = (left: Message, right: Message): boolean =>
  left.lookups.length === 0 && sameBytes(encode(storedMessage, left), encode(storedMessage, right));

/** Bytes of the message in the account. */
export const storedMessageSize = (message: Message): number => encode(storedMessage, message).length;

/** The argument form of a message that `compile` made for a vault. */
export const encodeVaultMessage = (message: Message): Uint8Array => encode(argumentMessage, message);

/** Decodes the argument form; `undefined` if malformed. */
export const decodeVaultMessage = (bytes: ReadonlyBytes): Message | undefined =>
  tryDecode(argumentMessage, bytes);

/**
 * The instructions of a message; the rights of an account are the union over all instructions.
 * @returns `undefined` for a malformed message, or one with lookup tables, whose keys are unknown without the chain.
 */
export const vaultMessageInstructions = (message: Message): readonly Instruction[] | undefined =>
  isWellFormed(message) && message.lookups.length === 0
    ? instructionsOf(message, staticAccounts(message))
    : undefined;
