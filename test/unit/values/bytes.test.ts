import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  compareBytes,
  copyBytes,
  partOf,
  type ReadonlyBytes,
  readBuffer,
  sameBytes,
} from '../../../src/values/bytes.js';

/** Kinds of byte arrays: with their own buffer, as a view into another, and Buffers of either. */
const kinds = (): readonly (readonly [string, Uint8Array])[] => {
  const around = Uint8Array.of(9, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  return [
    ['Uint8Array', Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)],
    ['part of a Uint8Array', around.subarray(2, 10)],
    ['Buffer', Buffer.from(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8).buffer)],
    ['part of a Buffer', Buffer.from(around.buffer, 2, 8)],
  ];
};

describe.each(kinds())('bytes in a %s', (_, bytes) => {
  it('are copied to memory of its own', () => {
    const copy = copyBytes(bytes);
    expect([...copy]).toEqual([...bytes]);
    expect(copy.buffer).not.toBe(bytes.buffer);
    expect(copy.slice().buffer).not.toBe(copy.buffer);
    copy.fill(0);
    expect([...bytes]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('are read where they begin and not beyond their end', () => {
    expect([...partOf(bytes, 2, 4)]).toEqual([3, 4]);
    expect([...partOf(bytes, 6)]).toEqual([7, 8]);
    expect(readBuffer(bytes).toString('hex')).toBe('0102030405060708');
  });

  it('are the same as bytes of another kind, and sort with them', () => {
    for (const [, other] of kinds()) expect(sameBytes(bytes, other)).toBe(true);
    expect(sameBytes(bytes, bytes.subarray(1))).toBe(false);
    expect(compareBytes(bytes, Buffer.from([1, 2, 4]))).toBeLessThan(0);
    expect(compareBytes(Buffer.from([1, 2, 4]), bytes)).toBeGreaterThan(0);
  });
});

it('take every array of bytes and give nothing to write with', () => {
  expectTypeOf<Uint8Array>().toExtend<ReadonlyBytes>();
  expectTypeOf<Buffer>().toExtend<ReadonlyBytes>();
  expectTypeOf<ReadonlyBytes>().not.toExtend<Uint8Array>();
  expectTypeOf<readonly number[]>().not.toExtend<ReadonlyBytes>();
  expectTypeOf<Uint16Array>().not.toExtend<ReadonlyBytes>();
  type Reachable = Exclude<keyof ReadonlyBytes, number>;
  expectTypeOf<Reachable>().toEqualTypeOf<'length' | typeof Symbol.iterator | typeof Symbol.toStringTag>();
});
