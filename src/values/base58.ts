/**
 * Base58 text ⇄ bytes, as Solana writes addresses and signatures; the codec is bs58's.
 *
 * Its time grows with the square of the length, and a transaction's signature is written and read several times on its way
 * through intent, ledger and outcome; so the latest ones are remembered.
 */
import bs58 from 'bs58';
import { copyBytes, type ReadonlyBytes, readBuffer } from './bytes.js';

const CACHE_LIMIT = 1_024;
const textByBytes = new Map<string, string>();
const bytesByText = new Map<string, ReadonlyBytes>();

function remember(key: string, bytes: ReadonlyBytes, text: string): void {
  if (textByBytes.size >= CACHE_LIMIT) textByBytes.clear();
  if (bytesByText.size >= CACHE_LIMIT) bytesByText.clear();
  textByBytes.set(key, text);
  bytesByText.set(text, bytes);
}

/** Bytes as base58 text. */
export function base58Encode(bytes: ReadonlyBytes): string {
  const source = readBuffer(bytes);
  const key = source.toString('latin1');
  const known = textByBytes.get(key);
  if (known !== undefined) return known;
  const text = bs58.encode(source);
  remember(key, copyBytes(bytes), text);
  return text;
}

/**
 * Base58 text as bytes of the caller's own, or `undefined` if a character does not belong. Only what this process has itself
 * written as text is remembered, so that a secret that is read is kept nowhere.
 */
export function base58Decode(text: string): Uint8Array | undefined {
  const known = bytesByText.get(text);
  return known === undefined ? bs58.decodeUnsafe(text) : copyBytes(known);
}
