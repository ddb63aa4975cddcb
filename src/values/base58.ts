/** Base58 text ⇄ bytes, with the codec of bs58. */
import bs58 from 'bs58';
import { type ReadonlyBytes, readBuffer } from './bytes.js';

export const base58Encode = (bytes: ReadonlyBytes): string => bs58.encode(readBuffer(bytes));

/** `undefined` for an invalid character. */
export const base58Decode = (text: string): Uint8Array | undefined => bs58.decodeUnsafe(text);
