/** Ed25519 keys and signed wire transactions. node:crypto signs, four times as fast as pure JavaScript. */

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

export interface SignedTransaction {
  readonly bytes: Uint8Array;
  readonly signature: string;
}

/** Signatures per message, in key order; `undefined` for a missing signer. All signers work in parallel. */
async function signaturesOf(messages: readonly ReadonlyBytes[], signers: readonly Signer[]) {
  const signed = await Promise.all(
    signers.map(async (signer) => [signer.address, await signer.signAll(messages)] as const),
  );
  return messages.map((message, at) => {
    const { staticKeys, signers: count } = decodeMessage(message);
    const keys = staticKeys.slice(0, count);
    for (const [address] of signed)
      if (!keys.includes(address))
        throw new FlywheelError('ERR_INTERNAL', `${address} is not a signer of the transaction.`);
    return keys.map((key) => signed.find(([address]) => address === key)?.[1][at]);
  });
}

/**
 * Signs legacy or version 0 messages with every required key.
 * @returns transactions in the order of the messages.
 * @throws `ERR_INTERNAL` when a signer is missing or not required.
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
 * A wire transaction with the signatures of some signers; missing ones are 64 zeros.
 * @throws `ERR_INTERNAL` when a signer is not required.
 */
export async function signPartly(message: ReadonlyBytes, signers: readonly Signer[]): Promise<Uint8Array> {
  const [signatures = []] = await signaturesOf([message], signers);
  return encodeTransaction(
    signatures.map((signature) => signature ?? NO_SIGNATURE),
    message,
  );
}

export const isSigned = ({ signatures, message, messageBytes }: WireTransaction): boolean =>
  signatures.length > 0 &&
  signatures.length === message.signers &&
  signatures.every((signature, index) => {
    const signer = message.staticKeys[index];
    return signer !== undefined && verifySignature(signer, messageBytes, signature);
  });

/** Signs messages with one key, possibly in another program or on another machine. The key cannot be read. */
export interface Signer {
  readonly address: Address;
  /** @returns signatures of 64 bytes, in the order of the messages. */
  signAll(messages: readonly ReadonlyBytes[]): Promise<readonly Uint8Array[]>;
}

export interface KeypairSigner extends Signer {
  signNow(message: ReadonlyBytes): Uint8Array;
}

/** Keypair of the Solana CLI: 32 bytes of seed, then 32 bytes of public key. */
export const KEYPAIR_LENGTH_BYTES = 64;
const SEED_LENGTH_BYTES = 32;

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

/** @throws `ERR_KEYPAIR_INVALID` for a wrong length, or a public half that does not match the seed. */
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
    signAll: async (messages) => messages.map(signNow),
  };
}

export function generateKeypair(): Uint8Array {
  const { privateKey: key, publicKey } = generateKeyPairSync('ed25519');
  const seed = key.export({ format: 'der', type: 'pkcs8' }).subarray(PKCS8_PREFIX.length);
  const publicBytes = publicKey.export({ format: 'der', type: 'spki' }).subarray(SPKI_PREFIX.length);
  return Uint8Array.from(Buffer.concat([seed, publicBytes]));
}

export function verifySignature(signer: Address, message: ReadonlyBytes, signature: ReadonlyBytes): boolean {
  const key = createPublicKey({
    key: Buffer.concat([SPKI_PREFIX, readBuffer(addressBytes(signer))]),
    format: 'der',
    type: 'spki',
  });
  return verify(null, readBuffer(message), key, readBuffer(signature));
}
