/** JSON of a node → values, or `Malformed`: a node is not believed to send what it should. */
import { type Address, isAddress } from '../../values/address.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../values/canonical-json.js';
import { InexactNumber } from '../../values/exact-number.js';

/** An answer is not what the method promises. The message goes on after "answered … with". */
export class Malformed extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'Malformed';
  }
}

const malformed = (what: string): never => {
  throw new Malformed(what);
};

/** What ought to be an object; `name` comes with its article, here and below. */
export function object(value: JsonValue | undefined, name: string): JsonObject {
  return isJsonObject(value) ? value : malformed(`${name} that is no object`);
}

/** A list, of exactly `length` where that is known. */
export function list(value: JsonValue | undefined, name: string, length?: number): readonly JsonValue[] {
  if (!Array.isArray(value)) return malformed(`${name} that are no list`);
  const items = value as readonly JsonValue[];
  if (length !== undefined && items.length !== length)
    return malformed(`${items.length} ${name} where ${length} were asked for`);
  return items;
}

export function text(value: JsonValue | undefined, name: string): string {
  return typeof value === 'string' ? value : malformed(`${name} that is no text`);
}

/** A whole number from 0 that a double carries: slots, heights, times. */
export function count(value: JsonValue | undefined, name: string): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? value
    : malformed(`${name} that is no whole number`);
}

const U64_LIMIT = 2n ** 64n;

/** A whole number of 64 bits, every digit of it. */
export function u64(value: JsonValue | undefined, name: string): bigint {
  const digits = value instanceof InexactNumber ? value.text : typeof value === 'number' ? String(value) : '';
  if (!/^\d{1,20}$/.test(digits) || BigInt(digits) >= U64_LIMIT)
    return malformed(`${name} that is no number of 64 bits`);
  return BigInt(digits);
}

export function addressText(value: JsonValue | undefined, name: string): Address {
  return typeof value === 'string' && isAddress(value) ? value : malformed(`${name} that is no address`);
}

/** Bytes as a node encodes them, `[text, "base64"]`; nothing that is not exactly their base64. */
export function base64Bytes(value: JsonValue | undefined, name: string): Buffer {
  const [data, encoding] = Array.isArray(value) ? (value as readonly JsonValue[]) : [];
  if (typeof data !== 'string' || encoding !== 'base64')
    return malformed(`${name} in another encoding than base64`);
  const bytes = Buffer.from(data, 'base64');
  return bytes.toString('base64') === data ? bytes : malformed(`${name} that are not base64`);
}
