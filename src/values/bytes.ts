/** Bytes that are handed on and never written to, and the only ways to get at more than reading them one by one. */

/**
 * Bytes for reading, of whatever class. `slice` and `subarray` are left out along with all that writes: a Buffer's `slice`
 * is a view of the same memory, so what looks like a copy would write through. {@link copyBytes} makes a real one.
 */
export type ReadonlyBytes = Pick<
  Uint8Array,
  'length' | typeof Symbol.iterator | typeof Symbol.toStringTag
> & { readonly [index: number]: number };

/** Reads numbers out of bytes. */
export type ByteView = Pick<
  DataView,
  'getUint8' | 'getUint16' | 'getUint32' | 'getBigUint64' | 'getBigInt64'
>;

/** The same bytes in memory of one's own. */
export const copyBytes = (bytes: ReadonlyBytes): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

/** A part of the bytes, in the same memory. */
export const partOf = (bytes: ReadonlyBytes, start: number, end?: number): ReadonlyBytes =>
  (bytes as Uint8Array).subarray(start, end);

/** The bytes as numbers of several bytes each. */
export function viewOf(bytes: ReadonlyBytes): ByteView {
  const { buffer, byteOffset, byteLength } = bytes as Uint8Array;
  return new DataView(buffer, byteOffset, byteLength);
}

/** The same memory, as a Buffer, for what takes only that and does not write, such as a hash. */
export function readBuffer(bytes: ReadonlyBytes): Buffer {
  if (bytes instanceof Buffer) return bytes;
  const { buffer, byteOffset, byteLength } = bytes as Uint8Array;
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** The order of bytes: negative, 0 or positive, as sorting takes it. */
export const compareBytes = (left: ReadonlyBytes, right: ReadonlyBytes): number =>
  Buffer.compare(left as Uint8Array, right as Uint8Array);

/** Is one the same as the other, byte for byte? */
export const sameBytes = (left: ReadonlyBytes, right: ReadonlyBytes): boolean =>
  left.length === right.length && compareBytes(left, right) === 0;
