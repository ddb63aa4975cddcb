/** Little-endian Borsh codecs; the layouts themselves are defined where they are used. */
import { ADDRESS_LENGTH_BYTES, type Address, addressAt, addressBytes } from '../values/address.js';
import { copyBytes, partOf, type ReadonlyBytes, readBuffer } from '../values/bytes.js';

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
}

/** Writes into a growing buffer. */
class ByteWriter {
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

export interface Codec<Value> {
  read(reader: ByteReader): Value;
  write(writer: ByteWriter, value: Value): void;
}

export type CodecValue<Kind> = Kind extends Codec<infer Value> ? Value : never;

/** By the name of the methods of Buffer. Writing a number that exceeds its width is a RangeError. */
const number = <Value extends number | bigint>(
  kind: 'UInt8' | 'UInt16LE' | 'UInt32LE' | 'BigUInt64LE' | 'BigInt64LE',
  size: number,
): Codec<Value> => ({
  read: (r) => r.buffer[`read${kind}`](r.skip(size)) as Value,
  write: (w, value) => {
    const at = w.grow(size);
    w.buffer[`write${kind}`](value as never, at);
  },
});

export const u8 = number<number>('UInt8', 1);
export const u16 = number<number>('UInt16LE', 2);
export const u32 = number<number>('UInt32LE', 4);
export const u64 = number<bigint>('BigUInt64LE', 8);
export const i64 = number<bigint>('BigInt64LE', 8);

export const key: Codec<Address> = {
  read: (r) => addressAt(r.buffer, r.skip(ADDRESS_LENGTH_BYTES)),
  write: (w, value) => w.put(addressBytes(value)),
};

/** A byte 0 or 1; any other value fails (squads-v4.md, section 4, step 2). */
export const bool: Codec<boolean> = {
  read: (r) => {
    const byte = u8.read(r);
    if (byte > 1) throw new LayoutError(`not a boolean: ${byte}`);
    return byte === 1;
  },
  write: (w, value) => u8.write(w, value ? 1 : 0),
};

export const option = <Value>(inner: Codec<Value>): Codec<Value | null> => ({
  read: (r) => (bool.read(r) ? inner.read(r) : null),
  write: (w, value) => {
    bool.write(w, value !== null);
    if (value !== null) inner.write(w, value);
  },
});

export const vec = <Value>(count: Codec<number>, inner: Codec<Value>): Codec<readonly Value[]> => ({
  read: (r) => {
    const length = count.read(r);
    // Every element takes at least one byte, so a count beyond the data cannot cause a long loop.
    if (length > r.remaining) throw r.end();
    const values: Value[] = [];
    for (let at = 0; at < length; at += 1) values.push(inner.read(r));
    return values;
  },
  write: (w, values) => {
    count.write(w, values.length);
    for (const value of values) inner.write(w, value);
  },
});

/** A count, then that many bytes. Reading returns a view, not a copy. */
export const blob = (count: Codec<number>): Codec<ReadonlyBytes> => ({
  read: (r) => r.take(count.read(r)),
  write: (w, bytes) => {
    count.write(w, bytes.length);
    w.put(bytes);
  },
});

/** Exactly `size` bytes; reading returns a view. */
export const fixed = (size: number): Codec<ReadonlyBytes> => ({
  read: (r) => r.take(size),
  write: (w, bytes) => w.put(bytes),
});

export const text: Codec<string> = {
  read: (r) => {
    const bytes = blob(u32).read(r);
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readBuffer(bytes));
    } catch {
      throw new LayoutError('text is not UTF-8');
    }
  },
  write: (w, value) => blob(u32).write(w, new TextEncoder().encode(value)),
};

export const struct = <Fields extends object>(
  fields: {
    readonly [Name in keyof Fields]: Codec<Fields[Name]>;
  },
): Codec<Readonly<Fields>> => {
  const entries = Object.entries(fields) as [keyof Fields, Codec<Fields[keyof Fields]>][];
  return {
    read: (r) => {
      const value = {} as Fields;
      for (const [name, codec] of entries) value[name] = codec.read(r);
      return value;
    },
    write: (w, value) => {
      for (const [name, codec] of entries) codec.write(w, value[name]);
    },
  };
};

export function encode<Value>(codec: Codec<Value>, value: Value): Uint8Array {
  const writer = new ByteWriter();
  codec.write(writer, value);
  return writer.finish();
}

/** The value at the start of `bytes`, or `undefined` for another layout. Trailing bytes are ignored. */
export function tryDecode<Value>(codec: Codec<Value>, bytes: ReadonlyBytes, offset = 0): Value | undefined {
  try {
    return codec.read(new ByteReader(bytes, offset));
  } catch (error) {
    if (error instanceof LayoutError) return undefined;
    throw error;
  }
}
