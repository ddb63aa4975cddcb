/** Little-endian Borsh codecs; the layouts themselves are defined where they are used. */
import { type Address, addressBytes } from '../values/address.js';
import { ByteReader, ByteWriter, LayoutError } from '../values/byte-codec.js';
import { type ReadonlyBytes, readBuffer } from '../values/bytes.js';

export interface Codec<Value> {
  read(reader: ByteReader): Value;
  write(writer: ByteWriter, value: Value): void;
}

export type CodecValue<Kind> = Kind extends Codec<infer Value> ? Value : never;

export const u8: Codec<number> = { read: (r) => r.u8(), write: (w, value) => w.u8(value) };
export const u16: Codec<number> = { read: (r) => r.u16(), write: (w, value) => w.u16(value) };
export const u32: Codec<number> = { read: (r) => r.u32(), write: (w, value) => w.u32(value) };
export const u64: Codec<bigint> = { read: (r) => r.u64(), write: (w, value) => w.u64(value) };
export const i64: Codec<bigint> = { read: (r) => r.i64(), write: (w, value) => w.i64(value) };

export const key: Codec<Address> = {
  read: (r) => r.address(),
  write: (w, value) => w.put(addressBytes(value)),
};

/** A byte 0 or 1; any other value fails (squads-v4.md, section 4, step 2). */
export const bool: Codec<boolean> = {
  read: (r) => {
    const byte = r.u8();
    if (byte > 1) throw new LayoutError(`not a boolean: ${byte}`);
    return byte === 1;
  },
  write: (w, value) => w.u8(value ? 1 : 0),
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
    const bytes = r.take(r.u32());
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

/** Writes one value over `bytes` from `offset`; later bytes stay. @returns `false` if the value does not fit. */
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

/** The value at the start of `bytes`, or `undefined` for another layout. Trailing bytes are ignored. */
export function tryDecode<Value>(codec: Codec<Value>, bytes: ReadonlyBytes, offset = 0): Value | undefined {
  try {
    return codec.read(new ByteReader(bytes, offset));
  } catch (error) {
    if (error instanceof LayoutError || error instanceof RangeError) return undefined;
    throw error;
  }
}
