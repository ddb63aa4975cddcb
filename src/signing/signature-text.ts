/** A signature as a program writes it: base64 or base58 of 64 bytes. */
import { SIGNATURE_BYTES } from '../chain/transaction/wire.js';
import { base58Decode } from '../values/base58.js';

/** 64 bytes in base64 always end like this, and base58 never does. */
const BASE64 = /^[A-Za-z0-9+/]{86}==$/;
/** 64 bytes in base58 at most. */
const MAX_BASE58 = 88;

/** @returns the bytes, or `undefined` for any other text. */
export function signatureOf(text: string): Uint8Array | undefined {
  if (BASE64.test(text)) return Uint8Array.from(Buffer.from(text, 'base64'));
  const bytes = text.length > MAX_BASE58 ? undefined : base58Decode(text);
  return bytes?.length === SIGNATURE_BYTES ? bytes : undefined;
}
