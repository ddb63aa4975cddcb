/** Little-endian Borsh, as pieces that are written once and read both ways; which pieces make up what is decided beside this file. */
import { ADDRESS_LENGTH_BYTES, type Address, addressAt, addressBytes } from '../../values/address.js';
import {
  type ByteView,
  copyBytes,
  partOf,
  type ReadonlyBytes,
  readBuffer,
  viewOf,
} from '../../values/bytes.js';

/** Why bytes are not what a layout says. Caught by those who decode, never shown as it is. */
export class LayoutError extends Error {
  override readonly name = 'LayoutError';
}

/** Walks over bytes; running out of them is a {@link LayoutError}. */
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

  /** Steps over `count` bytes and says where they began. */
  #skip(count: number): number {
    if (count > this.remaining) throw new LayoutError(`needs ${count} bytes at ${this.#offset}`);
    const start = this.#offset;
    this.#offset += count;
    return start;
  }

  /** A view of the next `count` bytes, not a copy. */
  take(count: number): ReadonlyBytes {
    const start = this.#skip(count);
    return partOf(this.bytes, start, start + count);
  }

  /** A copy of the next `count` bytes. */
  copy(count: number): Uint8Array {
    const start = this.#skip(count);
    const bytes = new Uint8Array(count);
    for (let at = 0; at < count; at += 1) bytes[at] = this.#buffer[start + at] as number;
    return bytes;
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

/** Collects bytes; grows as needed, or fills given bytes and no more. */
export class ByteWriter {
  #buffer: Uint8Array;
  #view: DataView;
  #length: number;
  readonly #fixed: boolean;

  /** @param target - filled from `offset`; writing beyond its end is a {@link LayoutError}. */
  constructor(target?: Uint8Array, offset = 0) {
    this.#buffer = target ?? new Uint8Array(256);
    this.#view = new DataView(this.#buffer.buffer, this.#buffer.byteOffset, this.#buffer.byteLength);
    this.#length = offset;
    this.#fixed = target !== undefined;
  }

  #grow(count: number): number {
    const start = this.#length;
    this.#length += count;
    if (this.#length > this.#buffer.length) {
      if (this.#fixed) throw new LayoutError(`no room for ${count} bytes at ${start}`);
      const larger = new Uint8Array(Math.max(this.#length, this.#buffer.length * 2));
      larger.set(this.#buffer.subarray(0, start));
      this.#buffer = larger;
      this.#view = new DataView(larger.buffer);
    }
    return start;
  }

  put(bytes: ReadonlyBytes): void {
    const start = this.#grow(bytes.length);
    this.#buffer.set(bytes, start);
  }

  u8(value: number): void {
    const start = this.#grow(1);
    this.#view.setUint8(start, value);
  }

  u16(value: number): void {
    const start = this.#grow(2);
    this.#view.setUint16(start, value, true);
  }

  u32(value: number): void {
    const start = this.#grow(4);
    this.#view.setUint32(start, value, true);
  }

  u64(value: bigint): void {
    const start = this.#grow(8);
    this.#view.setBigUint64(start, value, true);
  }

  i64(value: bigint): void {
    const start = this.#grow(8);
    this.#view.setBigInt64(start, value, true);
  }

  finish(): Uint8Array {
    return copyBytes(partOf(this.#buffer, 0, this.#length));
  }
}

/** One piece of a layout, read and written in the same order. */
export interface Codec<Value> {
  read(reader: ByteReader): Value;
  write(writer: ByteWriter, value: Value): void;
}

/** What a codec carries. */
export type CodecValue<Kind> = Kind extends Codec<infer Value> ? Value : never;

export const u8: Codec<number> = { read: (r) => r.u8(), write: (w, value) => w.u8(value) };
export const u16: Codec<number> = { read: (r) => r.u16(), write: (w, value) => w.u16(value) };
export const u32: Codec<number> = { read: (r) => r.u32(), write: (w, value) => w.u32(value) };
export const u64: Codec<bigint> = { read: (r) => r.u64(), write: (w, value) => w.u64(value) };
export const i64: Codec<bigint> = { read: (r) => r.i64(), write: (w, value) => w.i64(value) };

/** A key of 32 bytes. */
export const key: Codec<Address> = {
  read: (r) => r.address(),
  write: (w, value) => w.put(addressBytes(value)),
};

/** A byte that is 0 or 1; any other fails (squads-v4.md, section 4, step 2). */
export const bool: Codec<boolean> = {
  read: (r) => {
    const byte = r.u8();
    if (byte > 1) throw new LayoutError(`not a boolean: ${byte}`);
    return byte === 1;
  },
  write: (w, value) => w.u8(value ? 1 : 0),
};

/** A tag byte, then the value if the tag is 1; `null` if it is 0. */
export const option = <Value>(inner: Codec<Value>): Codec<Value | null> => ({
  read: (r) => (bool.read(r) ? inner.read(r) : null),
  write: (w, value) => {
    bool.write(w, value !== null);
    if (value !== null) inner.write(w, value);
  },
});

/** A count, then that many values. */
export const vec = <Value>(count: Codec<number>, inner: Codec<Value>): Codec<readonly Value[]> => ({
  read: (r) => {
    const length = count.read(r);
    // Every element takes at least a byte, so a count beyond the data cannot make a long loop.
    if (length > r.remaining) throw new LayoutError(`${length} elements in ${r.remaining} bytes`);
    const values: Value[] = [];
    for (let at = 0; at < length; at += 1) values.push(inner.read(r));
    return values;
  },
  write: (w, values) => {
    count.write(w, values.length);
    for (const value of values) inner.write(w, value);
  },
});

/** A count, then that many bytes, copied. */
export const blob = (count: Codec<number>): Codec<ReadonlyBytes> => ({
  read: (r) => r.copy(count.read(r)),
  write: (w, bytes) => {
    count.write(w, bytes.length);
    w.put(bytes);
  },
});

/** Exactly `size` bytes, copied. */
export const fixed = (size: number): Codec<ReadonlyBytes> => ({
  read: (r) => r.copy(size),
  write: (w, bytes) => w.put(bytes),
});

/** UTF-8 behind a u32 length. */
export const text: Codec<string> = {
  read: (r) => {
    const bytes = r.take(r.u32());
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readBuffer(bytes));
    } catch {
      throw new LayoutError('text is not UTF-8');
    }
  },
  write: (w, value) => blob(u32).write(w, new TextEncoder().encode(value)),
};

/** Named fields, one after the other in the order written. */
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

/** The bytes of one value. */
export function encode<Value>(codec: Codec<Value>, value: Value): Uint8Array {
  const writer = new ByteWriter();
  codec.write(writer, value);
  return writer.finish();
}

/** Writes one value over `bytes` from `offset`, leaving what lies behind it. @returns `false` if it does not fit. */
export function tryEncodeInto<Value>(
  codec: Codec<Value>,
  value: Value,
  bytes: Uint8Array,
  offset: number,
): boolean {
  try {
    codec.write(new ByteWriter(bytes, offset), value);
    return true;
  } catch (error) {
    if (error instanceof LayoutError) return false;
    throw error;
  }
}

/** The value at the start of `bytes`, or `undefined` when they are not of this layout; bytes behind it are ignored. */
export function tryDecode<Value>(codec: Codec<Value>, bytes: ReadonlyBytes, offset = 0): Value | undefined {
  try {
    return codec.read(new ByteReader(bytes, offset));
  } catch (error) {
    if (error instanceof LayoutError || error instanceof RangeError) return undefined;
    throw error;
  }
}
