/**
 * Base58 text ⇄ bytes, as Solana writes addresses and signatures; the codec is bs58's.
 *
 * Its time grows with the square of the length, and a transaction's signature is written and read several times on its way
 * through intent, ledger and outcome; so the latest ones are remembered.
 */
import bs58 from 'bs58';

const CACHE_LIMIT = 1_024;
const textByBytes = new Map<string, string>();
const bytesByText = new Map<string, Uint8Array>();

function remember(key: string, bytes: Uint8Array, text: string): void {
  if (textByBytes.size >= CACHE_LIMIT) textByBytes.clear();
  if (bytesByText.size >= CACHE_LIMIT) bytesByText.clear();
  textByBytes.set(key, text);
  bytesByText.set(text, bytes);
}

const keyOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');

/** Bytes as base58 text. */
export function base58Encode(bytes: Uint8Array): string {
  const key = keyOf(bytes);
  const known = textByBytes.get(key);
  if (known !== undefined) return known;
  const text = bs58.encode(bytes);
  remember(key, Uint8Array.from(bytes), text);
  return text;
}

/**
 * Base58 text as bytes, or `undefined` if a character does not belong. May be shared with others: never write to them.
 * Only what this process has itself written as text is remembered; a secret that is read stays the caller's alone.
 */
export const base58Decode = (text: string): Uint8Array | undefined =>
  bytesByText.get(text) ?? bs58.decodeUnsafe(text);
