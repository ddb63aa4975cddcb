/** Ed25519 keys: what signs, and what checks a signature. The work is done by node:crypto, four times as fast as pure JavaScript. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { type Address, addressBytes, addressFromBytes } from '../../values/address.js';
import { type ReadonlyBytes, readBuffer } from '../../values/bytes.js';

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
export const SIGNATURE_LENGTH_BYTES = 64;
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
  const signNow = (message: ReadonlyBytes): Uint8Array => sign(null, readBuffer(message), key);
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
