/** SHA-256 digests, as lowercase hex. */
import { createHash, hash } from 'node:crypto';
import {
  distinctPieces,
  distinctText,
  type JsonObject,
  type JsonValue,
  proofText,
} from './canonical-json.js';

declare const brand: unique symbol;

/** 64 lowercase hexadecimal digits. */
export type Sha256 = string & { readonly [brand]: 'Sha256' };

export const isSha256 = (text: string): text is Sha256 => /^[0-9a-f]{64}$/.test(text);

/** SHA-256 of bytes, or of text in UTF-8. */
export const sha256 = (data: Uint8Array | string): Sha256 => hash('sha256', data, 'hex') as Sha256;

/**
 * The hash of a proof: SHA-256 of its canonical JSON (contract, section 1.6).
 * @throws `ERR_INVALID_REQUEST` for a proof that has none, see {@link proofText}.
 */
export const proofHash = (proof: JsonObject): Sha256 => sha256(proofText(proof));

/** What tells one request body from another: SHA-256 of a text that only equal bodies have. */
export const fingerprint = (body: JsonValue): Sha256 => sha256(distinctText(body));

/** Text that is hashed at a time. */
const HASHED_LENGTH = 16_384;

/** The same of a body that may be long. @param pause - is asked again and again whether others are to have a turn. */
export async function fingerprintInTurns(
  body: JsonValue,
  pause: () => Promise<void> | undefined,
): Promise<Sha256> {
  const digest = createHash('sha256');
  let text = '';
  for (const piece of distinctPieces(body)) {
    text += piece;
    if (text.length < HASHED_LENGTH) continue;
    digest.update(text);
    text = '';
    await pause();
  }
  return digest.update(text).digest('hex') as Sha256;
}
