/** Identifiers: UUIDs for batches, operations and requests, random ones or derived from others. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';

declare const brand: unique symbol;

/** A UUID in lower case. */
export type Uuid = string & { readonly [brand]: 'Uuid' };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (text: string): text is Uuid => UUID.test(text);

/** Where fresh identifiers and secrets come from; tests give a counted one. */
export interface Ids {
  uuid(): Uuid;
  /** `size` random bytes, for keys. */
  bytes(size: number): Uint8Array;
}

export const randomIds: Ids = {
  uuid: () => randomUUID() as Uuid,
  bytes: (size) => randomBytes(size),
};

/** The UUID of 16 bytes or more (RFC 9562), where a version says what they are. */
export function uuidOf(given: Buffer, version: number): Uuid {
  const bytes = Buffer.from(given);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | (version << 4);
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}` as Uuid;
}

/** A version of which only its maker knows what the bytes are. */
const OWN_VERSION = 8;

/** The same UUID for the same parts, always: keys of the parts of one request are derived so. */
export const derivedUuid = (...parts: readonly string[]): Uuid =>
  uuidOf(createHash('sha256').update(JSON.stringify(parts)).digest(), OWN_VERSION);
