/** Identifiers: UUIDs as text, random or derived. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';

declare const brand: unique symbol;

/** Lower case if made here; {@link isUuid} also accepts upper case. */
export type Uuid = string & { readonly [brand]: 'Uuid' };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (text: string): text is Uuid => UUID.test(text);

/** Source of fresh identifiers and secrets; tests inject a counting one. */
export interface Ids {
  uuid(): Uuid;
  bytes(size: number): Uint8Array;
}

export const randomIds: Ids = {
  uuid: () => randomUUID() as Uuid,
  bytes: (size) => randomBytes(size),
};

/** A UUID determined by its parts, version 8: custom content (RFC 9562); used for keys of the parts of one request. */
export function derivedUuid(...parts: readonly string[]): Uuid {
  const bytes = createHash('sha256').update(JSON.stringify(parts)).digest();
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}` as Uuid;
}
