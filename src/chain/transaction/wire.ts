/** Transactions as they go over the wire, legacy and version 0: bytes ⇄ value, exact both ways; what one may do is decided elsewhere. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import { ADDRESS_LENGTH_BYTES, type Address, addressAt, addressBytes } from '../../values/address.js';
import { copyBytes, partOf, type ReadonlyBytes, readBuffer } from '../../values/bytes.js';

/** Bytes of a transaction at most, signatures included: what fits one packet. */
export const MAX_TRANSACTION_BYTES = 1_232;
export const SIGNATURE_BYTES = 64;
const BLOCKHASH_BYTES = 32;
/** Set in the first byte of a message that states its version; the other bits are the version. */
const VERSION_FLAG = 0x80;

export interface WireInstruction {
  readonly programIndex: number;
  /** One index a byte: static keys, then writable, then readonly looked-up keys. */
  readonly accountIndexes: ReadonlyBytes;
  readonly data: ReadonlyBytes;
}

export interface WireLookup {
  readonly table: Address;
  readonly writableIndexes: ReadonlyBytes;
  readonly readonlyIndexes: ReadonlyBytes;
}

export interface WireMessage {
  readonly version: 'legacy' | 0;
  /** Keys that must sign; they come first among the static keys. */
  readonly requiredSignatures: number;
  /** How many of the signers, the last ones, are readonly. */
  readonly readonlySigned: number;
  /** How many of the others, the last ones, are readonly. */
  readonly readonlyUnsigned: number;
  readonly staticKeys: readonly Address[];
  /** 32 bytes. */
  readonly blockhash: ReadonlyBytes;
  readonly instructions: readonly WireInstruction[];
  /** Empty for a legacy message. */
  readonly lookups: readonly WireLookup[];
}

export interface WireTransaction {
  /** 64 bytes each, in the order of the static keys; all zero where one is still missing. */
  readonly signatures: readonly ReadonlyBytes[];
  readonly message: WireMessage;
  /** The part that is signed. */
  readonly messageBytes: ReadonlyBytes;
}

const malformed = (what: string, at: number): FlywheelError =>
  new FlywheelError('ERR_INVALID_REQUEST', `Not a transaction: ${what} at byte ${at}.`);

class WireReader {
  offset = 0;
  readonly #buffer: Buffer;

  constructor(readonly bytes: ReadonlyBytes) {
    this.#buffer = readBuffer(bytes);
  }

  /** Steps over `count` bytes and says where they began. */
  #skip(count: number): number {
    if (count > this.bytes.length - this.offset) throw malformed('the bytes end', this.bytes.length);
    this.offset += count;
    return this.offset - count;
  }

  take(count: number): ReadonlyBytes {
    const start = this.#skip(count);
    return partOf(this.bytes, start, this.offset);
  }

  byte(): number {
    return this.bytes[this.#skip(1)] as number;
  }

  /** A length in 7-bit groups, lowest first, at most 16 bits, in its shortest form. */
  length(): number {
    const start = this.offset;
    let value = 0;
    for (let shift = 0; shift <= 14; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        if ((byte === 0 && shift > 0) || value > 0xffff) break;
        return value;
      }
    }
    throw malformed('a length is not in its shortest form', start);
  }

  list<Value>(read: () => Value): readonly Value[] {
    const count = this.length();
    const values: Value[] = [];
    for (let index = 0; index < count; index += 1) values.push(read());
    return values;
  }

  key(): Address {
    return addressAt(this.#buffer, this.#skip(ADDRESS_LENGTH_BYTES));
  }

  indexes(): ReadonlyBytes {
    return this.take(this.length());
  }
}

function readMessage(reader: WireReader): WireMessage {
  const first = reader.byte();
  const versioned = (first & VERSION_FLAG) !== 0;
  if (versioned && first !== VERSION_FLAG) {
    throw malformed(`unknown message version ${first & 0x7f}`, reader.offset - 1);
  }
  return {
    version: versioned ? 0 : 'legacy',
    requiredSignatures: versioned ? reader.byte() : first,
    readonlySigned: reader.byte(),
    readonlyUnsigned: reader.byte(),
    staticKeys: reader.list(() => reader.key()),
    blockhash: reader.take(BLOCKHASH_BYTES),
    instructions: reader.list(() => ({
      programIndex: reader.byte(),
      accountIndexes: reader.indexes(),
      data: reader.indexes(),
    })),
    lookups: versioned
      ? reader.list(() => ({
          table: reader.key(),
          writableIndexes: reader.indexes(),
          readonlyIndexes: reader.indexes(),
        }))
      : [],
  };
}

/**
 * Bytes as a message, without signatures. Its parts are views: bytes that their owner changes later change them too.
 * @throws `ERR_INVALID_REQUEST` for bytes that are cut short, go on, or are no message.
 */
export function decodeMessage(bytes: ReadonlyBytes): WireMessage {
  const reader = new WireReader(bytes);
  const message = readMessage(reader);
  if (reader.offset !== bytes.length) throw malformed('bytes are left over', reader.offset);
  return message;
}

/**
 * Wire bytes as a transaction; whether signatures, indexes and counts make sense is not looked at.
 * @throws `ERR_INVALID_REQUEST` for bytes that are cut short, go on, or are no transaction.
 */
export function decodeTransaction(bytes: ReadonlyBytes): WireTransaction {
  const reader = new WireReader(bytes);
  const signatures = reader.list(() => reader.take(SIGNATURE_BYTES));
  const messageBytes = partOf(bytes, reader.offset);
  return { signatures, message: decodeMessage(messageBytes), messageBytes };
}

/** Shared by all writers, of which one works at a time. */
let scratch = new Uint8Array(2 * MAX_TRANSACTION_BYTES);

/** Puts the pieces of a message into one run of bytes. */
class WireWriter {
  #length = 0;

  #room(count: number): number {
    const start = this.#length;
    this.#length += count;
    if (this.#length > scratch.length) {
      const larger = new Uint8Array(this.#length * 2);
      larger.set(scratch.subarray(0, start));
      scratch = larger;
    }
    return start;
  }

  byte(value: number): this {
    const at = this.#room(1);
    scratch[at] = value;
    return this;
  }

  put(bytes: ReadonlyBytes): this {
    const at = this.#room(bytes.length);
    scratch.set(bytes, at);
    return this;
  }

  length(value: number): this {
    let rest = value;
    for (; rest >= 0x80; rest >>= 7) this.byte((rest & 0x7f) | 0x80);
    return this.byte(rest);
  }

  indexes(bytes: ReadonlyBytes): this {
    return this.length(bytes.length).put(bytes);
  }

  finish(): Uint8Array {
    return copyBytes(partOf(scratch, 0, this.#length));
  }
}

function writeMessage(writer: WireWriter, message: WireMessage): void {
  if (message.version === 0) writer.byte(VERSION_FLAG);
  writer.byte(message.requiredSignatures).byte(message.readonlySigned).byte(message.readonlyUnsigned);
  writer.length(message.staticKeys.length);
  for (const key of message.staticKeys) writer.put(addressBytes(key));
  writer.put(message.blockhash).length(message.instructions.length);
  for (const { programIndex, accountIndexes, data } of message.instructions) {
    writer.byte(programIndex).indexes(accountIndexes).indexes(data);
  }
  if (message.version === 'legacy') return;
  writer.length(message.lookups.length);
  for (const { table, writableIndexes, readonlyIndexes } of message.lookups) {
    writer.put(addressBytes(table)).indexes(writableIndexes).indexes(readonlyIndexes);
  }
}

/** The bytes of a message: what signers sign. */
export function encodeMessage(message: WireMessage): Uint8Array {
  const writer = new WireWriter();
  writeMessage(writer, message);
  return writer.finish();
}

/** Wire bytes of signatures and message. */
export function encodeTransaction(
  signatures: readonly ReadonlyBytes[],
  message: WireMessage | ReadonlyBytes,
): Uint8Array {
  const writer = new WireWriter().length(signatures.length);
  for (const signature of signatures) writer.put(signature);
  if ('staticKeys' in message) writeMessage(writer, message);
  else writer.put(message);
  return writer.finish();
}

/** Does static key `index` sign? */
export const isSigner = (message: WireMessage, index: number): boolean => index < message.requiredSignatures;

/** Does the header let static key `index` be written? */
export function isWritable(message: WireMessage, index: number): boolean {
  const { requiredSignatures, readonlySigned, readonlyUnsigned, staticKeys } = message;
  if (index < requiredSignatures) return index < requiredSignatures - readonlySigned;
  return index < staticKeys.length - readonlyUnsigned;
}
