/** Instructions → message → signed wire transaction; whether it fits or should be sent is decided elsewhere. */
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import { ADDRESS_LENGTH_BYTES, type Address, addressBytes } from '../../values/address.js';
import { base58Decode, base58Encode } from '../../values/base58.js';
import { partOf, type ReadonlyBytes } from '../../values/bytes.js';
import type { Instruction } from './instruction.js';
import { type MessageKeys, orderMessageKeys } from './message-keys.js';
import { noteSignedHere } from './signed-here.js';
import { type KeypairSigner, SIGNATURE_LENGTH_BYTES, type Signer } from './signer.js';

/** What a message is compiled from. */
export interface MessageInput {
  /** Pays the fee and signs first. */
  readonly payer: Address;
  readonly instructions: readonly Instruction[];
  /** Base58 text of 32 bytes. */
  readonly blockhash: string;
}

/** A transaction with all its signatures. */
export interface SignedTransaction {
  /** Wire bytes, ready to submit. */
  readonly bytes: Uint8Array;
  /** Base58 text of the first signature: the transaction's name on the chain. */
  readonly signature: string;
}

const VERSION_0_PREFIX = 0x80;
const HEADER_LENGTH_BYTES = 3;
const MAX_KEYS = 256;
const MAX_SHORT_LENGTH = 0xffff;

const shortLengthSize = (value: number): number => (value < 0x80 ? 1 : value < 0x4000 ? 2 : 3);

/** Writes a length as compact-u16: 7 bits a byte, low first. @returns the offset behind it. */
function writeShortLength(bytes: Uint8Array, offset: number, value: number): number {
  let rest = value;
  let at = offset;
  while (rest >= 0x80) {
    bytes[at++] = (rest & 0x7f) | 0x80;
    rest >>= 7;
  }
  bytes[at++] = rest;
  return at;
}

/** Thousands of transactions in a row share one blockhash. */
let lastBlockhash: { readonly text: string; readonly bytes: ReadonlyBytes } = {
  text: '',
  bytes: new Uint8Array(0),
};

function blockhashBytes(text: string): ReadonlyBytes {
  if (lastBlockhash.text === text) return lastBlockhash.bytes;
  const bytes = base58Decode(text);
  invariant(bytes?.length === ADDRESS_LENGTH_BYTES, `Not a blockhash: ${text}`);
  lastBlockhash = { text, bytes };
  return bytes;
}

function messageSize(keys: MessageKeys, instructions: readonly Instruction[], versioned: boolean): number {
  let size = HEADER_LENGTH_BYTES + ADDRESS_LENGTH_BYTES + (versioned ? 2 : 0);
  size += shortLengthSize(keys.keys.length) + keys.keys.length * ADDRESS_LENGTH_BYTES;
  size += shortLengthSize(instructions.length);
  for (const { accounts, data } of instructions) {
    size += 1 + shortLengthSize(accounts.length) + accounts.length;
    size += shortLengthSize(data.length) + data.length;
  }
  return size;
}

function writeInstruction(
  bytes: Uint8Array,
  offset: number,
  instruction: Instruction,
  keys: MessageKeys,
): number {
  const { program, accounts, data } = instruction;
  let at = offset;
  bytes[at++] = keys.indexOf.get(program) ?? 0;
  at = writeShortLength(bytes, at, accounts.length);
  for (const { address } of accounts) bytes[at++] = keys.indexOf.get(address) ?? 0;
  at = writeShortLength(bytes, at, data.length);
  bytes.set(data, at);
  return at + data.length;
}

function compile({ payer, instructions, blockhash }: MessageInput, versioned: boolean): Uint8Array {
  const keys = orderMessageKeys(payer, instructions);
  const count = keys.keys.length;
  invariant(count <= MAX_KEYS, `A message names at most ${MAX_KEYS} accounts, got ${count}.`);
  for (const { data, accounts } of instructions) {
    invariant(
      data.length <= MAX_SHORT_LENGTH && accounts.length <= MAX_SHORT_LENGTH,
      'An instruction is too long.',
    );
  }
  const bytes = new Uint8Array(messageSize(keys, instructions, versioned));
  let at = 0;
  if (versioned) bytes[at++] = VERSION_0_PREFIX;
  bytes[at++] = keys.signers;
  bytes[at++] = keys.signers - keys.writableSigners;
  bytes[at++] = count - keys.signers - keys.writableNonSigners;
  at = writeShortLength(bytes, at, count);
  for (const key of keys.keys) {
    bytes.set(addressBytes(key), at);
    at += ADDRESS_LENGTH_BYTES;
  }
  bytes.set(blockhashBytes(blockhash), at);
  at = writeShortLength(bytes, at + ADDRESS_LENGTH_BYTES, instructions.length);
  for (const instruction of instructions) at = writeInstruction(bytes, at, instruction, keys);
  // A version 0 message ends with its number of lookup tables, here 0, which is what the last byte already is.
  return bytes;
}

/** What the wire transaction of a legacy message takes, without compiling it. */
export function legacyTransactionSize({
  payer,
  instructions,
}: Pick<MessageInput, 'payer' | 'instructions'>): { readonly bytes: number; readonly accounts: number } {
  const keys = orderMessageKeys(payer, instructions);
  const message = messageSize(keys, instructions, false);
  const signatures = shortLengthSize(keys.signers) + keys.signers * SIGNATURE_LENGTH_BYTES;
  return { bytes: signatures + message, accounts: keys.keys.length };
}

/** Compiles a legacy message; accounts in the order of {@link orderMessageKeys}. */
export const compileLegacyMessage = (input: MessageInput): Uint8Array => compile(input, false);

/** Compiles a version 0 message without lookup tables; accounts in the order of {@link orderMessageKeys}. */
export const compileV0Message = (input: MessageInput): Uint8Array => compile(input, true);

/** Where a message, legacy or version 0, keeps the keys that must sign it. */
function signerKeys(message: ReadonlyBytes): { count: number; offset: number } {
  const start = ((message[0] ?? 0) & VERSION_0_PREFIX) === 0 ? 0 : 1;
  const lengthAt = start + HEADER_LENGTH_BYTES;
  const offset = lengthAt + ((message[lengthAt] ?? 0) < 0x80 ? 1 : 2);
  return { count: message[start] ?? 0, offset };
}

/** Bytes of the wire transaction that carries this message. */
export function transactionSize(message: ReadonlyBytes): number {
  const { count } = signerKeys(message);
  return shortLengthSize(count) + count * SIGNATURE_LENGTH_BYTES + message.length;
}

function isKeyAt(message: ReadonlyBytes, offset: number, key: ReadonlyBytes): boolean {
  for (let i = 0; i < ADDRESS_LENGTH_BYTES; i++) if (message[offset + i] !== key[i]) return false;
  return true;
}

/** A signature, and whose it is. */
interface Signed {
  readonly address: Address;
  readonly signature: Uint8Array;
}

function assemble(message: ReadonlyBytes, signatures: readonly Signed[], complete: boolean): Uint8Array {
  const { count, offset } = signerKeys(message);
  const first = shortLengthSize(count);
  const bytes = new Uint8Array(first + count * SIGNATURE_LENGTH_BYTES + message.length);
  writeShortLength(bytes, 0, count);
  bytes.set(message, first + count * SIGNATURE_LENGTH_BYTES);
  const unused = new Set(signatures);
  for (let i = 0; i < count; i++) {
    const keyAt = offset + i * ADDRESS_LENGTH_BYTES;
    const signed = signatures.find(({ address }) => isKeyAt(message, keyAt, addressBytes(address)));
    if (signed === undefined) {
      invariant(!complete, `Signature ${i} of ${count} of the transaction has no signer.`);
      continue;
    }
    unused.delete(signed);
    bytes.set(signed.signature, first + i * SIGNATURE_LENGTH_BYTES);
  }
  for (const { address } of unused) {
    throw new FlywheelError('ERR_INTERNAL', `The transaction asks for no signature of ${address}.`);
  }
  return bytes;
}

const named = (bytes: Uint8Array): SignedTransaction => ({
  bytes,
  signature: base58Encode(partOf(bytes, 1, 1 + SIGNATURE_LENGTH_BYTES)),
});

/** One that nobody but this process has signed. */
function here(signed: SignedTransaction): SignedTransaction {
  noteSignedHere(signed.bytes);
  return signed;
}

const signedNow = (message: ReadonlyBytes, signers: readonly KeypairSigner[]): readonly Signed[] =>
  signers.map(({ address, signNow }) => ({ address, signature: signNow(message) }));

const signedBy = (message: ReadonlyBytes, signers: readonly Signer[]): Promise<readonly Signed[]> =>
  Promise.all(
    signers.map(async (signer) => ({ address: signer.address, signature: await signer.sign(message) })),
  );

/**
 * Signs a message, legacy or version 0, with every key that it asks for, all of them in this process.
 * @throws `ERR_INTERNAL` when a signer is missing or does not belong.
 */
export const signTransaction = (
  message: ReadonlyBytes,
  signers: readonly KeypairSigner[],
): SignedTransaction => here(named(assemble(message, signedNow(message, signers), true)));

/** {@link signTransaction}, whoever keeps the keys. */
export async function requestSignatures(
  message: ReadonlyBytes,
  signers: readonly Signer[],
): Promise<SignedTransaction> {
  const signed = named(assemble(message, await signedBy(message, signers), true));
  return signers.some(({ takesTime }) => takesTime) ? signed : here(signed);
}

/** Transactions that one signer alone signs, all asked for at once. @returns them in the order of the messages. */
export async function signTransactions(
  messages: readonly ReadonlyBytes[],
  signer: Signer,
): Promise<readonly SignedTransaction[]> {
  const { address, takesTime } = signer;
  const signatures = await signer.signAll(messages);
  return messages.map((message, index) => {
    const signature = signatures[index];
    invariant(signature !== undefined, 'Every message is signed.');
    const signed = named(assemble(message, [{ address, signature }], true));
    return takesTime ? signed : here(signed);
  });
}

/**
 * The wire transaction of a message with the signatures of some of its signers; the places of the others are 64 zeros.
 * @throws `ERR_INTERNAL` when a signer does not belong.
 */
export const partiallySign = (message: ReadonlyBytes, signers: readonly KeypairSigner[]): Uint8Array =>
  assemble(message, signedNow(message, signers), false);

/** {@link partiallySign}, whoever keeps the keys. */
export const requestSomeSignatures = async (
  message: ReadonlyBytes,
  signers: readonly Signer[],
): Promise<Uint8Array> => assemble(message, await signedBy(message, signers), false);
