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
import { base58Encode, type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import {
  decodeMessage,
  decodeTransaction,
  encodeTransaction,
  isMissing,
  NO_SIGNATURE,
  type WireTransaction,
} from './wire.js';

interface SignedTransaction {
  readonly bytes: Uint8Array;
  readonly signature: string;
}

/**
 * Signs legacy or version 0 messages with every required key. All signers work in parallel.
 * @returns transactions in the order of the messages.
 * @throws `ERR_INTERNAL` when a signer is missing or not required.
 */
export async function sign<const Messages extends readonly ReadonlyBytes[]>(
  messages: Messages,
  signers: readonly Signer[],
): Promise<{ readonly [At in keyof Messages]: SignedTransaction }> {
  const lists = await Promise.all(signers.map((signer) => signer.signAll(messages)));
  const all = messages.map((message, at): SignedTransaction => {
    const { staticKeys, signers: count } = decodeMessage(message);
    const keys = staticKeys.slice(0, count);
    for (const { address } of signers)
      invariant(keys.includes(address), `${address} is not a signer of the transaction.`);
    const signatures = keys.map((key, index) => {
      const found = lists[signers.findIndex(({ address }) => address === key)]?.[at];
      invariant(found !== undefined, `Signature ${index} of ${count} of the transaction has no signer.`);
      return found;
    });
    return {
      bytes: encodeTransaction(signatures, message),
      signature: base58Encode(signatures[0] ?? NO_SIGNATURE),
    };
  });
  return all as { readonly [At in keyof Messages]: SignedTransaction };
}

/**
 * Adds a signature to a transaction; every other byte stays the same.
 * @throws `ERR_INVALID_REQUEST` when the transaction does not need this signature.
 */
export async function addSignature(wire: Uint8Array, signer: Signer): Promise<Uint8Array> {
  const { signatures, message, messageBytes } = decodeTransaction(wire);
  const place = message.staticKeys.indexOf(signer.address);
  if (place < 0 || place >= message.signers || place >= signatures.length)
    throw new FlywheelError('ERR_INVALID_REQUEST', `${signer.address} is not a signer of the transaction.`);
  const [added] = await signer.signAll([messageBytes]);
  return encodeTransaction(
    signatures.map((signature, index) => (index === place && added) || signature),
    messageBytes,
  );
}

export const flawedSignatures = ({ signatures, message, messageBytes }: WireTransaction) =>
  signatures.flatMap((signature, index) => {
    const signer = message.staticKeys[index];
    if (isMissing(signature)) return { signer, flaw: 'missing' } as const;
    const isRight = signer !== undefined && verifySignature(signer, messageBytes, signature);
    return isRight ? [] : ({ signer, flaw: 'wrong' } as const);
  });

export const isSigned = (transaction: WireTransaction): boolean =>
  transaction.signatures.length > 0 &&
  transaction.signatures.length === transaction.message.signers &&
  flawedSignatures(transaction).length === 0;

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

const publicKey = (bytes: ReadonlyBytes): KeyObject => {
  const x = readBuffer(bytes).toString('base64url');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
};

const publicBytesOf = (key: KeyObject): Buffer =>
  Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x ?? '', 'base64url');

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
  const publicBytes = publicBytesOf(key);
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
  const { privateKey: key } = generateKeyPairSync('ed25519');
  const seed = key.export({ format: 'der', type: 'pkcs8' }).subarray(PKCS8_PREFIX.length);
  return Uint8Array.from(Buffer.concat([seed, publicBytesOf(key)]));
}

export const verifySignature = (signer: Address, message: ReadonlyBytes, signature: ReadonlyBytes): boolean =>
  verify(null, readBuffer(message), publicKey(addressBytes(signer)), readBuffer(signature));
