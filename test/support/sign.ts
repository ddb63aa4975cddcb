/** Signs transactions with keys of this process. */
import type { KeypairSigner } from '../../src/chain/transaction/sign.js';
import { decodeMessage, encodeTransaction } from '../../src/chain/transaction/wire.js';
import { base58Encode } from '../../src/values/base58.js';
import type { ReadonlyBytes } from '../../src/values/bytes.js';

/** The wire transaction with these signatures; 64 zero bytes for every other signer. */
export function partiallySign(message: ReadonlyBytes, signers: readonly KeypairSigner[]): Uint8Array {
  const { staticKeys, signers: count } = decodeMessage(message);
  const signatures = staticKeys.slice(0, count).map((key) => {
    const signer = signers.find(({ address }) => address === key);
    return signer === undefined ? new Uint8Array(64) : signer.signNow(message);
  });
  return encodeTransaction(signatures, message);
}

export function signTransaction(message: ReadonlyBytes, signers: readonly KeypairSigner[]) {
  const bytes = partiallySign(message, signers);
  return { bytes, signature: base58Encode(bytes.subarray(1, 65)) };
}
