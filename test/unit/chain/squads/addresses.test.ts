import { PublicKey } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { isOnCurve } from '../../../../src/chain/squads/addresses.js';
import { addressFromBytes } from '../../../../src/values/address.js';
import { sha256 } from '../../../../src/values/digest.js';

describe('isOnCurve', () => {
  it('agrees with web3.js on hashes, and on values next to powers of two and to the prime', () => {
    const prime = 2n ** 255n - 19n;
    const near = [prime, ...Array.from({ length: 255 }, (_, bit) => 1n << BigInt(bit))]
      .flatMap((one) => [one - 2n, one - 1n, one, one + 1n, one + 2n])
      .filter((one) => one >= 0n && one < prime)
      .map((one) => Buffer.from(one.toString(16).padStart(64, '0'), 'hex').reverse());
    const hashes = Array.from({ length: 300 }, (_, round) => Buffer.from(sha256(`${round}`), 'hex'));
    for (const bytes of [...near, ...hashes])
      expect([bytes, isOnCurve(addressFromBytes(bytes))]).toEqual([bytes, PublicKey.isOnCurve(bytes)]);
  });
});
