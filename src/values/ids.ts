/** Identifiers: UUIDs for batches, operations and requests, random ones or derived from others. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { type Uuid, uuidOf } from './uuid.js';

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

/** A version of which only its maker knows what the bytes are. */
const OWN_VERSION = 8;

/** The same UUID for the same parts, always: keys of the parts of one request are derived so. */
export const derivedUuid = (...parts: readonly string[]): Uuid =>
  uuidOf(createHash('sha256').update(JSON.stringify(parts)).digest(), OWN_VERSION);
