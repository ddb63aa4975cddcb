/** Base58: the codec against known vectors, and both ways. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { base58Decode, base58Encode } from '../../../src/values/base58.js';

describe('base58', () => {
  it.each([
    ['', ''],
    ['61', '2g'],
    ['626262', 'a3gV'],
    ['516b6fcd0f', 'ABnLTmg'],
    ['00000000000000000000', '1111111111'],
    [
      '000111d38e5fc9071ffcd20b4a763cc9ae4f252bb4e48fd66a835e252ada93ff480d6dd43dc62a641155a5',
      '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz',
    ],
  ])('%s is %s', (hex, text) => {
    expect(base58Encode(Buffer.from(hex, 'hex'))).toBe(text);
    expect(Buffer.from(base58Decode(text) ?? [1]).toString('hex')).toBe(hex);
  });

  it('reads back any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
        expect(Uint8Array.from(base58Decode(base58Encode(bytes)) ?? [])).toEqual(bytes);
      }),
    );
  });

  it.each(['0', 'O', 'I', 'l', ' 2g', '2g\n', 'é'])('refuses %j', (text) => {
    expect(base58Decode(text)).toBeUndefined();
  });
});
