/** Instructions → message → signed wire transaction; whether it fits or should be sent is decided elsewhere. */
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import { ADDRESS_LENGTH_BYTES, type Address } from '../../values/address.js';
import { base58Decode, base58Encode } from '../../values/base58.js';
import { partOf, type ReadonlyBytes } from '../../values/bytes.js';
import type { Instruction } from './instruction.js';
import type { KeypairSigner, Signer } from './signer.js';
import { compileMessage, decodeMessage, encodeMessage, encodeTransaction, SIGNATURE_BYTES } from './wire.js';

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

const VERSION_FLAG = 0x80;
const MAX_KEYS = 256;
const MAX_SHORT_LENGTH = 0xffff;

function compile(version: 'legacy' | 0, { payer, instructions, blockhash }: MessageInput): Uint8Array {
  const hash = base58Decode(blockhash);
  invariant(hash?.length === ADDRESS_LENGTH_BYTES, `Not a blockhash: ${blockhash}`);
  const message = compileMessage(version, payer, instructions, hash);
  const count = message.staticKeys.length;
  invariant(count <= MAX_KEYS, `A message names at most ${MAX_KEYS} accounts, got ${count}.`);
  invariant(
    instructions.every(
      ({ data, accounts }) => data.length <= MAX_SHORT_LENGTH && accounts.length <= MAX_SHORT_LENGTH,
    ),
    'An instruction is too long.',
  );
  return encodeMessage(message);
}

/** What the wire transaction of a legacy message takes. */
export function legacyTransactionSize({
  payer,
  instructions,
}: Pick<MessageInput, 'payer' | 'instructions'>): { readonly bytes: number; readonly accounts: number } {
  const message = compileMessage('legacy', payer, instructions, new Uint8Array(ADDRESS_LENGTH_BYTES));
  return { bytes: transactionSize(encodeMessage(message)), accounts: message.staticKeys.length };
}

/** Compiles a legacy message; accounts in the order of `orderMessageKeys`. */
export const compileLegacyMessage = (input: MessageInput): Uint8Array => compile('legacy', input);

/** Compiles a version 0 message without lookup tables; accounts in the order of `orderMessageKeys`. */
export const compileV0Message = (input: MessageInput): Uint8Array => compile(0, input);

/** How many keys must sign a message, legacy or version 0. */
const signerCount = (message: ReadonlyBytes): number =>
  message[((message[0] ?? 0) & VERSION_FLAG) === 0 ? 0 : 1] ?? 0;

/** Bytes of the wire transaction that carries this message. */
export function transactionSize(message: ReadonlyBytes): number {
  const count = signerCount(message);
  return (count < 0x80 ? 1 : 2) + count * SIGNATURE_BYTES + message.length;
}

/** A signature, and whose it is. */
interface Signed {
  readonly address: Address;
  readonly signature: Uint8Array;
}

const NO_SIGNATURE = new Uint8Array(SIGNATURE_BYTES);

function assemble(message: ReadonlyBytes, signed: readonly Signed[], complete: boolean): Uint8Array {
  const count = signerCount(message);
  const keys = decodeMessage(message).staticKeys.slice(0, count);
  for (const { address } of signed)
    if (!keys.includes(address))
      throw new FlywheelError('ERR_INTERNAL', `The transaction asks for no signature of ${address}.`);
  const signatures = keys.map((key, index) => {
    const signature = signed.find(({ address }) => address === key)?.signature;
    invariant(
      signature !== undefined || !complete,
      `Signature ${index} of ${count} of the transaction has no signer.`,
    );
    return signature ?? NO_SIGNATURE;
  });
  return encodeTransaction(signatures, message);
}

const named = (bytes: Uint8Array): SignedTransaction => ({
  bytes,
  signature: base58Encode(partOf(bytes, 1, 1 + SIGNATURE_BYTES)),
});

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
): SignedTransaction => named(assemble(message, signedNow(message, signers), true));

/** {@link signTransaction}, whoever keeps the keys. */
export async function requestSignatures(
  message: ReadonlyBytes,
  signers: readonly Signer[],
): Promise<SignedTransaction> {
  return named(assemble(message, await signedBy(message, signers), true));
}

/** Transactions that one signer alone signs, all asked for at once. @returns them in the order of the messages. */
export async function signTransactions(
  messages: readonly ReadonlyBytes[],
  signer: Signer,
): Promise<readonly SignedTransaction[]> {
  const { address } = signer;
  const signatures = await signer.signAll(messages);
  return messages.map((message, index) => {
    const signature = signatures[index];
    invariant(signature !== undefined, 'Every message is signed.');
    return named(assemble(message, [{ address, signature }], true));
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
