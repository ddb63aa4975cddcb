/** Base58 text ⇄ bytes, as Solana writes addresses and signatures; the codec is bs58's. */
import bs58 from 'bs58';
import { type ReadonlyBytes, readBuffer } from './bytes.js';

/** Bytes as base58 text. */
export const base58Encode = (bytes: ReadonlyBytes): string => bs58.encode(readBuffer(bytes));

/** Base58 text as bytes, or `undefined` if a character does not belong. */
export const base58Decode = (text: string): Uint8Array | undefined => bs58.decodeUnsafe(text);
