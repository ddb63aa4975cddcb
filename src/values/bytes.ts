/** Immutable bytes, and the only functions for other access than by index. */
import bs58 from 'bs58';

/**
 * Read-only bytes of any class. `slice` and `subarray` are missing along with all writing methods: a Buffer's `slice` shares
 * memory, so a seeming copy would write through. {@link copyBytes} copies.
 */
export type ReadonlyBytes = Pick<
  Uint8Array,
  'length' | typeof Symbol.iterator | typeof Symbol.toStringTag
> & { readonly [index: number]: number };

/** A real copy. */
export const copyBytes = (bytes: ReadonlyBytes): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

/** A view of the same memory. */
export const partOf = (bytes: ReadonlyBytes, start: number, end?: number): ReadonlyBytes =>
  (bytes as Uint8Array).subarray(start, end);

/** A Buffer on the same memory, for functions that need a Buffer and only read it. */
export function readBuffer(bytes: ReadonlyBytes): Buffer {
  if (bytes instanceof Buffer) return bytes;
  const { buffer, byteOffset, byteLength } = bytes as Uint8Array;
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Comparator for sorting: negative, 0 or positive. */
export const compareBytes = (left: ReadonlyBytes, right: ReadonlyBytes): number =>
  Buffer.compare(left as Uint8Array, right as Uint8Array);

export const sameBytes = (left: ReadonlyBytes, right: ReadonlyBytes): boolean =>
  left.length === right.length && compareBytes(left, right) === 0;

/** With the codec of bs58. */
export const base58Encode = (bytes: ReadonlyBytes): string => bs58.encode(readBuffer(bytes));

/** `undefined` for an invalid character. */
export const base58Decode = (text: string): Uint8Array | undefined => bs58.decodeUnsafe(text);
