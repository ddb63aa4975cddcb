/** Identifiers: random or derived UUIDs. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { type Uuid, uuidOf } from './uuid.js';

/** Source of fresh identifiers and secrets; tests inject a counting one. */
export interface Ids {
  uuid(): Uuid;
  bytes(size: number): Uint8Array;
}

export const randomIds: Ids = {
  uuid: () => randomUUID() as Uuid,
  bytes: (size) => randomBytes(size),
};

/** UUID version 8: custom content (RFC 9562). */
const OWN_VERSION = 8;

/** A UUID determined by its parts; used for keys of the parts of one request. */
export const derivedUuid = (...parts: readonly string[]): Uuid =>
  uuidOf(createHash('sha256').update(JSON.stringify(parts)).digest(), OWN_VERSION);
