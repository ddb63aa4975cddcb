/** Ed25519 keys, and messages → signed wire transactions. The work is done by node:crypto, four times as fast as pure JavaScript. */

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
  verify,
} from 'node:crypto';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import { type Address, addressBytes, addressFromBytes } from '../../values/address.js';
import { base58Encode } from '../../values/base58.js';
import { partOf, type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import {
  decodeMessage,
  encodeTransaction,
  NO_SIGNATURE,
  SIGNATURE_BYTES,
  type WireTransaction,
} from './wire.js';

/** A transaction with all its signatures. */
export interface SignedTransaction {
  /** Wire bytes, ready to submit. */
  readonly bytes: Uint8Array;
  /** Base58 text of the first signature: the transaction's name on the chain. */
  readonly signature: string;
}

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

/** Signs messages with one key, which may be kept by another program or machine; the key itself cannot be read from it. */
export interface Signer {
  readonly address: Address;
  /** @returns the 64 signature bytes. */
  sign(message: ReadonlyBytes): Promise<Uint8Array>;
  /** Signs many at once. @returns the signatures in the order of the messages. */
  signAll(messages: readonly ReadonlyBytes[]): Promise<readonly Uint8Array[]>;
}

/** A signer whose key is in this process. */
export interface KeypairSigner extends Signer {
  /** {@link Signer.sign} without waiting. */
  signNow(message: ReadonlyBytes): Uint8Array;
}

/** Bytes of a keypair in the Solana CLI's format: 32 of the seed, then 32 of the public key. */
export const KEYPAIR_LENGTH_BYTES = 64;
const SEED_LENGTH_BYTES = 32;

// DER prefixes of RFC 8410 in front of the 32 raw bytes.
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

function privateKey(seed: Uint8Array): KeyObject {
  const der = Buffer.concat([PKCS8_PREFIX, seed]);
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } finally {
    der.fill(0);
  }
}

/**
 * A signer from a keypair's 64 bytes.
 * @throws `ERR_KEYPAIR_INVALID` when the length is wrong or the public half does not belong to the seed.
 */
export function createKeypairSigner(keypair: Uint8Array): KeypairSigner {
  if (keypair.length !== KEYPAIR_LENGTH_BYTES) {
    throw new FlywheelError(
      'ERR_KEYPAIR_INVALID',
      `A keypair has ${KEYPAIR_LENGTH_BYTES} bytes, got ${keypair.length}.`,
    );
  }
  const key = privateKey(keypair.subarray(0, SEED_LENGTH_BYTES));
  const publicBytes = createPublicKey(key)
    .export({ format: 'der', type: 'spki' })
    .subarray(SPKI_PREFIX.length);
  if (!publicBytes.equals(keypair.subarray(SEED_LENGTH_BYTES))) {
    throw new FlywheelError(
      'ERR_KEYPAIR_INVALID',
      'The public half of the keypair does not belong to its secret half.',
    );
  }
  const signNow = (message: ReadonlyBytes): Uint8Array => signBytes(null, readBuffer(message), key);
  return {
    address: addressFromBytes(Uint8Array.from(publicBytes)),
    signNow,
    sign: async (message) => signNow(message),
    signAll: async (messages) => messages.map(signNow),
  };
}

/** The 64 bytes of a new random keypair. */
export function generateKeypair(): Uint8Array {
  const { privateKey: key, publicKey } = generateKeyPairSync('ed25519');
  const seed = key.export({ format: 'der', type: 'pkcs8' }).subarray(PKCS8_PREFIX.length);
  const publicBytes = publicKey.export({ format: 'der', type: 'spki' }).subarray(SPKI_PREFIX.length);
  return Uint8Array.from(Buffer.concat([seed, publicBytes]));
}

/** Is this the signature of `signer` over `message`? */
export function verifySignature(signer: Address, message: ReadonlyBytes, signature: ReadonlyBytes): boolean {
  const key = createPublicKey({
    key: Buffer.concat([SPKI_PREFIX, readBuffer(addressBytes(signer))]),
    format: 'der',
    type: 'spki',
  });
  return verify(null, readBuffer(message), key, readBuffer(signature));
}
