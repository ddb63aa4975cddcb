/** Transactions as they go over the wire, legacy and version 0: bytes ⇄ value, exact both ways; what one may do is decided elsewhere. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import { type Address, addressBytes } from '../../values/address.js';
import { ByteReader, ByteWriter, LayoutError } from '../../values/byte-codec.js';
import { partOf, type ReadonlyBytes } from '../../values/bytes.js';
import type { Instruction } from './instruction.js';

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

/** Reads with the lengths of the wire. */
class WireReader {
  readonly #reader: ByteReader;

  constructor(readonly bytes: ReadonlyBytes) {
    this.#reader = new ByteReader(bytes);
  }

  get offset(): number {
    return this.#reader.offset;
  }

  take(count: number): ReadonlyBytes {
    return this.#reader.take(count);
  }

  byte(): number {
    return this.#reader.u8();
  }

  key(): Address {
    return this.#reader.address();
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
export const decodeMessage = (bytes: ReadonlyBytes): WireMessage =>
  reading(bytes, (reader) => {
    const message = readMessage(reader);
    if (reader.offset !== bytes.length) throw malformed('bytes are left over', reader.offset);
    return message;
  });

function reading<Value>(bytes: ReadonlyBytes, read: (reader: WireReader) => Value): Value {
  try {
    return read(new WireReader(bytes));
  } catch (error) {
    if (error instanceof LayoutError) throw malformed('the bytes end', bytes.length);
    throw error;
  }
}

/**
 * Wire bytes as a transaction; whether signatures, indexes and counts make sense is not looked at.
 * @throws `ERR_INVALID_REQUEST` for bytes that are cut short, go on, or are no transaction.
 */
export const decodeTransaction = (bytes: ReadonlyBytes): WireTransaction =>
  reading(bytes, (reader) => {
    const signatures = reader.list(() => reader.take(SIGNATURE_BYTES));
    const messageBytes = partOf(bytes, reader.offset);
    return { signatures, message: decodeMessage(messageBytes), messageBytes };
  });

/** Puts the pieces of a message into one run of bytes. */
class WireWriter {
  readonly #bytes = new ByteWriter();

  byte(value: number): this {
    this.#bytes.u8(value);
    return this;
  }

  put(bytes: ReadonlyBytes): this {
    this.#bytes.put(bytes);
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
    return this.#bytes.finish();
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

/**
 * Rights of an account as two bits, so that the union of two uses is `a & b`: 2 = does not sign, 1 = is not written.
 * Sorted by this number, accounts stand in the order of a message.
 */
const WRITABLE_SIGNER = 0;
const NOT_SIGNER = 2;
const NOT_WRITABLE = 1;
const READONLY = NOT_SIGNER | NOT_WRITABLE;

/** The accounts of a message, and the numbers that its header is made of. */
interface MessageKeys {
  readonly keys: readonly Address[];
  readonly indexOf: ReadonlyMap<Address, number>;
  readonly signers: number;
  readonly writableSigners: number;
  readonly writableNonSigners: number;
}

function collectRoles(payer: Address, instructions: readonly Instruction[]): Map<Address, number> {
  const roles = new Map<Address, number>().set(payer, WRITABLE_SIGNER);
  for (const { program, accounts } of instructions) {
    if (!roles.has(program)) roles.set(program, READONLY);
    for (const { address, signer, writable } of accounts) {
      const role = (signer ? 0 : NOT_SIGNER) | (writable ? 0 : NOT_WRITABLE);
      roles.set(address, (roles.get(address) ?? READONLY) & role);
    }
  }
  return roles;
}

/**
 * Lists the accounts of a message: writable signers, readonly signers, writable, readonly; within each as first met, the
 * payer before all, and of an instruction its program before its accounts. A key's rights are the union over its uses.
 * The same order as `CompiledKeys` of web3.js; Squads vault messages share it, with the vault in the payer's place.
 */
export function orderMessageKeys(payer: Address, instructions: readonly Instruction[]): MessageKeys {
  const roles = collectRoles(payer, instructions);
  const groups: [Address[], Address[], Address[], Address[]] = [[], [], [], []];
  for (const [key, role] of roles) groups[role]?.push(key);
  const keys = groups[0].concat(groups[1], groups[2], groups[3]);
  // The keys are all there already: writing their places over their roles spares a second table.
  for (let index = 0; index < keys.length; index += 1) roles.set(keys[index] as Address, index);
  return {
    keys,
    indexOf: roles,
    signers: groups[0].length + groups[1].length,
    writableSigners: groups[0].length,
    writableNonSigners: groups[2].length,
  };
}

/** The message in which `payer` runs these instructions. */
export function compileMessage(
  version: WireMessage['version'],
  payer: Address,
  instructions: readonly Instruction[],
  blockhash: ReadonlyBytes,
): WireMessage {
  const { keys, indexOf, signers, writableSigners, writableNonSigners } = orderMessageKeys(
    payer,
    instructions,
  );
  return {
    version,
    requiredSignatures: signers,
    readonlySigned: signers - writableSigners,
    readonlyUnsigned: keys.length - signers - writableNonSigners,
    staticKeys: keys,
    blockhash,
    instructions: instructions.map(({ program, accounts, data }) => ({
      programIndex: indexOf.get(program) ?? 0,
      accountIndexes: Uint8Array.from(accounts, ({ address }) => indexOf.get(address) ?? 0),
      data,
    })),
    lookups: [],
  };
}
