/** Remembers what the data of accounts met last reads as: an account's bytes are never changed in place, so they are decoded once. */
import type { ReadonlyBytes } from '../../../values/bytes.js';
import type { AccountLayout } from './accounts.js';
import { TYPE_MARK_BYTES } from './accounts.js';
import { tryDecode } from './codec.js';

const MAX_REMEMBERED = 256;
const values = new Map<ReadonlyBytes, unknown>();

/** Notes that `data` reads as `value`. */
export function rememberDecoded(data: ReadonlyBytes, value: unknown): void {
  if (values.size >= MAX_REMEMBERED) values.clear();
  values.set(data, value);
}

/** Does `data` read as this very value? */
export const readsAs = (data: ReadonlyBytes, value: unknown): boolean => values.get(data) === value;

/** The value behind the type mark, or `undefined` when it is malformed; the same object for the same bytes. */
export function decodeOnce<Value>({ fields }: AccountLayout<Value>, data: ReadonlyBytes): Value | undefined {
  const known = values.get(data);
  if (known !== undefined) return known as Value;
  const value = tryDecode(fields, data, TYPE_MARK_BYTES);
  if (value !== undefined) rememberDecoded(data, value);
  return value;
}
