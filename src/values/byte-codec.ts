/** Sequential reading and writing of bytes; integers are little-endian. */
import { ADDRESS_LENGTH_BYTES, type Address, addressAt } from './address.js';
import { type ByteView, copyBytes, partOf, type ReadonlyBytes, readBuffer, viewOf } from './bytes.js';

/** Bytes do not match a layout. Decoders catch this error. */
export class LayoutError extends Error {
  override readonly name = 'LayoutError';
}

export class ByteReader {
  readonly #buffer: Buffer;
  readonly #view: ByteView;
  #offset: number;

  constructor(
    readonly bytes: ReadonlyBytes,
    offset = 0,
  ) {
    this.#buffer = readBuffer(bytes);
    this.#view = viewOf(bytes);
    this.#offset = offset;
  }

  get offset(): number {
    return this.#offset;
  }

  get remaining(): number {
    return this.bytes.length - this.#offset;
  }

  #skip(count: number): number {
    if (count > this.remaining) throw this.end();
    const start = this.#offset;
    this.#offset += count;
    return start;
  }

  /** A view of the next `count` bytes, not a copy. */
  take(count: number): ReadonlyBytes {
    const start = this.#skip(count);
    return partOf(this.bytes, start, start + count);
  }

  end(): LayoutError {
    return new LayoutError(`the bytes end at byte ${this.bytes.length}`);
  }

  address(): Address {
    return addressAt(this.#buffer, this.#skip(ADDRESS_LENGTH_BYTES));
  }

  u8(): number {
    return this.#view.getUint8(this.#skip(1));
  }

  u16(): number {
    return this.#view.getUint16(this.#skip(2), true);
  }

  u32(): number {
    return this.#view.getUint32(this.#skip(4), true);
  }

  u64(): bigint {
    return this.#view.getBigUint64(this.#skip(8), true);
  }

  i64(): bigint {
    return this.#view.getBigInt64(this.#skip(8), true);
  }
}

/** Writes into a growing buffer, or into given bytes. A number that exceeds its width is a RangeError. */
export class ByteWriter {
  #buffer: Buffer;
  #length: number;
  readonly #fixed: boolean;

  /** @param target - filled from `offset`; writing beyond its end is a {@link LayoutError}. */
  constructor(target?: Uint8Array, offset = 0) {
    this.#buffer = target === undefined ? Buffer.alloc(256) : readBuffer(target);
    this.#length = offset;
    this.#fixed = target !== undefined;
  }

  #grow(count: number): number {
    const start = this.#length;
    this.#length += count;
    if (this.#length > this.#buffer.length) {
      if (this.#fixed) throw new LayoutError(`no room for ${count} bytes at ${start}`);
      const larger = Buffer.alloc(Math.max(this.#length, this.#buffer.length * 2));
      larger.set(this.#buffer.subarray(0, start));
      this.#buffer = larger;
    }
    return start;
  }

  put(bytes: ReadonlyBytes): void {
    const start = this.#grow(bytes.length);
    this.#buffer.set(bytes, start);
  }

  u8(value: number): void {
    const start = this.#grow(1);
    this.#buffer.writeUInt8(value, start);
  }

  u16(value: number): void {
    const start = this.#grow(2);
    this.#buffer.writeUInt16LE(value, start);
  }

  u32(value: number): void {
    const start = this.#grow(4);
    this.#buffer.writeUInt32LE(value, start);
  }

  u64(value: bigint): void {
    const start = this.#grow(8);
    this.#buffer.writeBigUInt64LE(value, start);
  }

  i64(value: bigint): void {
    const start = this.#grow(8);
    this.#buffer.writeBigInt64LE(value, start);
  }

  finish(): Uint8Array {
    return copyBytes(partOf(this.#buffer, 0, this.#length));
  }
}
