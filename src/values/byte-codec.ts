/** Sequential reading and writing of bytes. What the bytes mean is up to the layouts. */
import { ADDRESS_LENGTH_BYTES, type Address, addressAt } from './address.js';
import { copyBytes, partOf, type ReadonlyBytes, readBuffer } from './bytes.js';

/** Bytes do not match a layout. Decoders catch this error. */
export class LayoutError extends Error {
  override readonly name = 'LayoutError';
}

export class ByteReader {
  readonly buffer: Buffer;
  #offset: number;

  constructor(
    readonly bytes: ReadonlyBytes,
    offset = 0,
  ) {
    this.buffer = readBuffer(bytes);
    this.#offset = offset;
  }

  get offset(): number {
    return this.#offset;
  }

  get remaining(): number {
    return this.bytes.length - this.#offset;
  }

  /** @returns the place of the next `count` bytes. */
  skip(count: number): number {
    if (count > this.remaining) throw this.end();
    const start = this.#offset;
    this.#offset += count;
    return start;
  }

  /** A view of the next `count` bytes, not a copy. */
  take(count: number): ReadonlyBytes {
    const start = this.skip(count);
    return partOf(this.bytes, start, start + count);
  }

  end(): LayoutError {
    return new LayoutError(`the bytes end at byte ${this.bytes.length}`);
  }

  address(): Address {
    return addressAt(this.buffer, this.skip(ADDRESS_LENGTH_BYTES));
  }
}

/** Writes into a growing buffer. */
export class ByteWriter {
  #buffer = Buffer.alloc(256);
  #length = 0;

  get buffer(): Buffer {
    return this.#buffer;
  }

  /** @returns the place of the next `count` bytes in the buffer, which may be a new one. */
  grow(count: number): number {
    const start = this.#length;
    this.#length += count;
    if (this.#length > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(this.#length, this.#buffer.length * 2));
      larger.set(this.#buffer.subarray(0, start));
      this.#buffer = larger;
    }
    return start;
  }

  put(bytes: ReadonlyBytes): void {
    const start = this.grow(bytes.length);
    this.#buffer.set(bytes, start);
  }

  finish(): Uint8Array {
    return copyBytes(partOf(this.#buffer, 0, this.#length));
  }
}
