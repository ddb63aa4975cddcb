/** UUIDs as text, in a module without cryptography for code that only reads them. */

declare const brand: unique symbol;

/** Lower case if made here; {@link isUuid} also accepts upper case. */
export type Uuid = string & { readonly [brand]: 'Uuid' };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (text: string): text is Uuid => UUID.test(text);

/** A UUID of the given version from the first 16 bytes (RFC 9562). */
export function uuidOf(given: Buffer, version: number): Uuid {
  const bytes = Buffer.from(given);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | (version << 4);
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}` as Uuid;
}
