import { describe, expect, it } from 'vitest';
import { memo } from '../../../../src/chain/memo.js';
import {
  compileLegacyMessage,
  requestSignatures,
  signTransaction,
  signTransactions,
} from '../../../../src/chain/transaction/compile.js';
import { isSignedHere } from '../../../../src/chain/transaction/signed-here.js';
import type { Signer } from '../../../../src/chain/transaction/signer.js';
import { base58Encode } from '../../../../src/values/base58.js';
import { namedSigner } from '../../../support/chain.js';

const own = namedSigner('own');
/** Somebody else has its key. */
const elsewhere: Signer = { ...own, takesTime: true };
const message = compileLegacyMessage({
  payer: own.address,
  instructions: [memo('hello', [own.address])],
  blockhash: base58Encode(new Uint8Array(32)),
});

describe('isSignedHere', () => {
  it('knows the very bytes that keys of this process have signed', async () => {
    const signed = [
      signTransaction(message, [own]),
      await requestSignatures(message, [own]),
      ...(await signTransactions([message], own)),
    ];
    expect(signed.map(({ bytes }) => isSignedHere(bytes))).toEqual([true, true, true]);
  });

  it('does not vouch for a copy', () => {
    expect(isSignedHere(Uint8Array.from(signTransaction(message, [own]).bytes))).toBe(false);
  });

  it('does not vouch for what somebody else has signed', async () => {
    const signed = [
      await requestSignatures(message, [elsewhere]),
      ...(await signTransactions([message], elsewhere)),
    ];
    expect(signed.map(({ bytes }) => isSignedHere(bytes))).toEqual([false, false]);
  });
});
