/** Wire transactions, legacy and version 0: bytes ⇄ value, exact in both directions. No further checks. */
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import { ADDRESS_LENGTH_BYTES, type Address } from '../../values/address.js';
import {
  base58Decode,
  base58Encode,
  copyBytes,
  partOf,
  type ReadonlyBytes,
  readBuffer,
  sameBytes,
} from '../../values/bytes.js';
import { ByteReader, type Codec, encode, fixed, key, LayoutError, u8, vec } from '../codec.js';
import { compile, type Instruction, instructionsCodec, lookupsCodec, type Message } from './message.js';

export const SIGNATURE_BYTES = 64;
const VERSION_FLAG = 0x80;
const MAX_KEYS = 256;
const MAX_SHORT_LENGTH = 0xffff;

export interface WireMessage extends Message {
  readonly version: 'legacy' | 0;
  readonly blockhash: ReadonlyBytes;
}

export interface WireTransaction {
  /** 64 bytes each, in the order of the static keys; zeros for a missing one. */
  readonly signatures: readonly ReadonlyBytes[];
  readonly message: WireMessage;
  readonly messageBytes: ReadonlyBytes;
}

/** A length in 7-bit groups, lowest first, at most 16 bits, in its shortest form. */
const short: Codec<number> = {
  read: (r) => {
    const start = r.offset;
    let value = 0;
    for (let shift = 0; shift <= 14; shift += 7) {
      const byte = u8.read(r);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        if ((byte === 0 && shift > 0) || value > MAX_SHORT_LENGTH) break;
        return value;
      }
    }
    throw new LayoutError(`a length is not in its shortest form at byte ${start}`);
  },
  write: (w, value) => {
    let rest = value;
    for (; rest >= 0x80; rest >>= 7) u8.write(w, (rest & 0x7f) | 0x80);
    u8.write(w, rest);
  },
};

const hash = fixed(ADDRESS_LENGTH_BYTES);
const keys = vec(short, key);
const signatureList = vec(short, fixed(SIGNATURE_BYTES));
const instructionList = instructionsCodec(short);
const lookupList = lookupsCodec(short);

/** The wire header counts readonly keys; {@link Message} counts writable ones. */
const wireMessage: Codec<WireMessage> = {
  read: (r) => {
    const first = u8.read(r);
    const isVersioned = (first & VERSION_FLAG) !== 0;
    if (isVersioned && first !== VERSION_FLAG)
      throw new LayoutError(`unknown message version ${first & 0x7f} at byte ${r.offset - 1}`);
    const signers = isVersioned ? u8.read(r) : first;
    const writableSigners = signers - u8.read(r);
    const readonlyNonSigners = u8.read(r);
    const staticKeys = keys.read(r);
    return {
      version: isVersioned ? 0 : 'legacy',
      ...{ signers, writableSigners, staticKeys },
      writableNonSigners: staticKeys.length - signers - readonlyNonSigners,
      blockhash: hash.read(r),
      instructions: instructionList.read(r),
      lookups: isVersioned ? lookupList.read(r) : [],
    };
  },
  write: (w, { version, signers, writableSigners, writableNonSigners, staticKeys, ...message }) => {
    if (version === 0) u8.write(w, VERSION_FLAG);
    u8.write(w, signers);
    u8.write(w, signers - writableSigners);
    u8.write(w, staticKeys.length - signers - writableNonSigners);
    keys.write(w, staticKeys);
    hash.write(w, message.blockhash);
    instructionList.write(w, message.instructions);
    if (version === 0) lookupList.write(w, message.lookups);
  },
};

/** @throws `ERR_INVALID_REQUEST` */
function reading<Value>(bytes: ReadonlyBytes, read: (reader: ByteReader) => Value): Value {
  try {
    return read(new ByteReader(bytes));
  } catch (error) {
    if (!(error instanceof LayoutError)) throw error;
    throw new FlywheelError('ERR_INVALID_REQUEST', `Not a transaction: ${error.message}.`);
  }
}

/**
 * Decodes a message without signatures. Parts are views into `bytes`.
 * @throws `ERR_INVALID_REQUEST` for truncated bytes, trailing bytes, or bytes that are not a message.
 */
export const decodeMessage = (bytes: ReadonlyBytes): WireMessage =>
  reading(bytes, (reader) => {
    const message = wireMessage.read(reader);
    if (reader.remaining > 0) throw new LayoutError(`bytes are left over at byte ${reader.offset}`);
    return message;
  });

/**
 * Decodes wire bytes; signatures, indexes and counts are not checked.
 * @throws `ERR_INVALID_REQUEST` for truncated bytes, trailing bytes, or bytes that are not a transaction.
 */
export const decodeTransaction = (bytes: ReadonlyBytes): WireTransaction =>
  reading(bytes, (reader) => {
    const signatures = signatureList.read(reader);
    const messageBytes = partOf(bytes, reader.offset);
    return { signatures, message: decodeMessage(messageBytes), messageBytes };
  });

/** Base58 of the first signature: the transaction's name on chain, once its payer has signed. */
export const signatureOf = ({ signatures: [first = NO_SIGNATURE] }: WireTransaction): string =>
  base58Encode(first);

export const encodeMessage = (message: WireMessage): Uint8Array => encode(wireMessage, message);

export const encodeTransaction = (
  signatures: readonly ReadonlyBytes[],
  messageBytes: ReadonlyBytes,
): Uint8Array => copyBytes(Buffer.concat([encode(signatureList, signatures), readBuffer(messageBytes)]));

export const NO_SIGNATURE = new Uint8Array(SIGNATURE_BYTES);

export const isMissing = (signature: ReadonlyBytes): boolean => sameBytes(signature, NO_SIGNATURE);

/** A transaction without any signature. */
export function unsigned(messageBytes: ReadonlyBytes): Uint8Array {
  const { signers } = decodeMessage(messageBytes);
  return encodeTransaction(new Array<Uint8Array>(signers).fill(NO_SIGNATURE), messageBytes);
}

interface MessageInput {
  readonly payer: Address;
  readonly instructions: readonly Instruction[];
  /** Base58 text of 32 bytes. */
  readonly blockhash: string;
}

const compiledAs =
  (version: WireMessage['version']) =>
  ({ payer, instructions, blockhash }: MessageInput): Uint8Array => {
    const bytes = base58Decode(blockhash);
    invariant(bytes?.length === ADDRESS_LENGTH_BYTES, `Not a blockhash: ${blockhash}`);
    const message = compile(payer, instructions);
    const count = message.staticKeys.length;
    invariant(count <= MAX_KEYS, `A message names at most ${MAX_KEYS} accounts, got ${count}.`);
    return encodeMessage({ ...message, version, blockhash: bytes });
  };

export const compileLegacyMessage = compiledAs('legacy');
export const compileV0Message = compiledAs(0);

const NO_BLOCKHASH = new Uint8Array(ADDRESS_LENGTH_BYTES);

/** A legacy transaction without signatures and blockhash, to measure or simulate. */
export function draftTransaction(payer: Address, instructions: readonly Instruction[]) {
  const message = compile(payer, instructions);
  const messageBytes = encodeMessage({ ...message, version: 'legacy', blockhash: NO_BLOCKHASH });
  return { message, bytes: unsigned(messageBytes) };
}
