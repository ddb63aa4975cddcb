/** JSON of a node: a bigint is a number with all its digits, as a cluster writes its 64-bit numbers. */
import { InexactNumber, jsonTextOf } from '../values/exact-number.js';

const exact = (_key: string, value: unknown): unknown => {
  if (typeof value !== 'bigint') return value;
  return value <= BigInt(Number.MAX_SAFE_INTEGER)
    ? Number(value)
    : new InexactNumber(value.toString()).toJSON();
};

/** Text of a value that may hold bigints. */
export const toJson = (value: unknown): string => jsonTextOf(value, exact);
