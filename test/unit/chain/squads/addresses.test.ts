import { PublicKey } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { isOnCurve } from '../../../../src/chain/squads/addresses.js';
import { addressFromBytes } from '../../../../src/values/address.js';
import { sha256 } from '../../../../src/values/digest.js';

describe('isOnCurve', () => {
  it('agrees with web3.js', () => {
    for (let round = 0; round < 300; round += 1) {
      const hash = Buffer.from(sha256(`${round}`), 'hex');
      expect([round, isOnCurve(addressFromBytes(hash))]).toEqual([round, PublicKey.isOnCurve(hash)]);
    }
  });

  it('agrees with web3.js on values next to powers of two and to the prime', () => {
    const prime = 2n ** 255n - 19n;
    const near = [prime, ...Array.from({ length: 255 }, (_, bit) => 1n << BigInt(bit))];
    const values = near.flatMap((one) => [one - 2n, one - 1n, one, one + 1n, one + 2n]);
    for (const value of values.filter((one) => one >= 0n && one < prime)) {
      const bytes = Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse();
      expect([value, isOnCurve(addressFromBytes(bytes))]).toEqual([value, PublicKey.isOnCurve(bytes)]);
    }
  });
});
