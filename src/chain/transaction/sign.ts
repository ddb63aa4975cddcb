/** Messages → signed wire transactions. */
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import { base58Encode } from '../../values/base58.js';
import { partOf, type ReadonlyBytes } from '../../values/bytes.js';
import { type Signer, verifySignature } from './signer.js';
import { decodeMessage, encodeTransaction, SIGNATURE_BYTES, type WireTransaction } from './wire.js';

/** A transaction with all its signatures. */
export interface SignedTransaction {
  /** Wire bytes, ready to submit. */
  readonly bytes: Uint8Array;
  /** Base58 text of the first signature: the transaction's name on the chain. */
  readonly signature: string;
}

const NO_SIGNATURE = new Uint8Array(SIGNATURE_BYTES);

/** Each with the signatures of these signers, all asked for at once, in the order of the keys. */
async function signaturesOf(messages: readonly ReadonlyBytes[], signers: readonly Signer[]) {
  const signed = await Promise.all(
    signers.map(async (signer) => [signer.address, await signer.signAll(messages)] as const),
  );
  return messages.map((message, at) => {
    const { staticKeys, signers: count } = decodeMessage(message);
    const keys = staticKeys.slice(0, count);
    for (const [address] of signed)
      if (!keys.includes(address))
        throw new FlywheelError('ERR_INTERNAL', `The transaction asks for no signature of ${address}.`);
    return keys.map((key) => signed.find(([address]) => address === key)?.[1][at]);
  });
}

/**
 * Signs messages, legacy or version 0, with every key that they ask for.
 * @returns them in the order of the messages.
 * @throws `ERR_INTERNAL` when a signer is missing or does not belong.
 */
export async function sign<const Messages extends readonly ReadonlyBytes[]>(
  messages: Messages,
  signers: readonly Signer[],
): Promise<{ readonly [At in keyof Messages]: SignedTransaction }> {
  const all = (await signaturesOf(messages, signers)).map((found, at): SignedTransaction => {
    const signatures = found.map((signature, index) => {
      invariant(
        signature !== undefined,
        `Signature ${index} of ${found.length} of the transaction has no signer.`,
      );
      return signature;
    });
    const bytes = encodeTransaction(signatures, messages[at] as ReadonlyBytes);
    return { bytes, signature: base58Encode(partOf(bytes, 1, 1 + SIGNATURE_BYTES)) };
  });
  return all as { readonly [At in keyof Messages]: SignedTransaction };
}

/**
 * The wire transaction of a message with the signatures of some of its signers; the places of the others are 64 zeros.
 * @throws `ERR_INTERNAL` when a signer does not belong.
 */
export async function signPartly(message: ReadonlyBytes, signers: readonly Signer[]): Promise<Uint8Array> {
  const [signatures = []] = await signaturesOf([message], signers);
  return encodeTransaction(
    signatures.map((signature) => signature ?? NO_SIGNATURE),
    message,
  );
}

/** Is every signature there, and of whom it has to be? */
export const isSigned = ({ signatures, message, messageBytes }: WireTransaction): boolean =>
  signatures.length > 0 &&
  signatures.length === message.signers &&
  signatures.every((signature, index) => {
    const signer = message.staticKeys[index];
    return signer !== undefined && verifySignature(signer, messageBytes, signature);
  });
