/** Addresses: exactly 32 bytes in base58, however many are cached. */
import bs58 from 'bs58';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ADDRESS_LENGTH_BYTES,
  address,
  addressBytes,
  addressFromBytes,
  isAddress,
} from '../../../src/values/address.js';

describe('address', () => {
  const bytes32 = fc.uint8Array({ minLength: ADDRESS_LENGTH_BYTES, maxLength: ADDRESS_LENGTH_BYTES });

  it('is the base58 of exactly 32 bytes', () => {
    fc.assert(
      fc.property(bytes32, (bytes) => {
        const text = addressFromBytes(bytes);
        expect(text).toBe(bs58.encode(bytes));
        expect(address(text)).toBe(text);
        expect(Uint8Array.from(addressBytes(text))).toEqual(bytes);
      }),
    );
  });

  it('is not the base58 of any other number of bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        fc.pre(bytes.length !== ADDRESS_LENGTH_BYTES);
        expect(isAddress(bs58.encode(bytes))).toBe(false);
        expect(() => addressFromBytes(bytes)).toThrow('An address has 32 bytes');
      }),
    );
  });

  it.each([
    '',
    '11111111111111111111111111111110',
    'x',
    `${'1'.repeat(32)} `,
    '1'.repeat(33),
    'z'.repeat(10_000),
  ])('refuses %j', (text) => {
    expect(() => address(text)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_REQUEST' }));
  });

  it('stays right when more addresses come than are remembered', () => {
    const bytes = Buffer.alloc(32, 7);
    const text = addressFromBytes(bytes);
    for (let index = 0; index < 5_000; index += 1) {
      const other = Buffer.alloc(32);
      other.writeUInt32LE(index, 28);
      expect(addressFromBytes(other)).toBe(bs58.encode(other));
    }
    expect(addressFromBytes(bytes)).toBe(text);
    expect(Buffer.from(addressBytes(text))).toEqual(bytes);
  });
});
