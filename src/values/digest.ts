/** SHA-256 digests, as lowercase hex. */
import { createHash, hash } from 'node:crypto';
import {
  canonicalJson,
  canonicalPieces,
  distinctPieces,
  distinctText,
  type JsonObject,
  type JsonValue,
} from './canonical-json.js';

declare const brand: unique symbol;

/** 64 lowercase hexadecimal digits. */
export type Sha256 = string & { readonly [brand]: 'Sha256' };

export const isSha256 = (text: string): text is Sha256 => /^[0-9a-f]{64}$/.test(text);

/** SHA-256 of bytes, or of text in UTF-8. */
export const sha256 = (data: Uint8Array | string): Sha256 => hash('sha256', data, 'hex') as Sha256;

/**
 * The hash of a proof: SHA-256 of its canonical JSON (contract, section 1.6).
 * @throws `ERR_INVALID_REQUEST` for a proof that has none, see {@link canonicalJson}.
 */
export const proofHash = (proof: JsonObject): Sha256 => sha256(canonicalJson(proof));

/** What tells one request body from another: SHA-256 of a text that only equal bodies have. */
export const fingerprint = (body: JsonValue): Sha256 => sha256(distinctText(body));

/** Gives others a turn where it is time; asked again and again by what may take long. */
export type Pause = () => Promise<void> | undefined;

/** {@link fingerprint} of a body that may be long. */
export async function fingerprintInTurns(body: JsonValue, pause: Pause): Promise<Sha256> {
  const digest = createHash('sha256');
  for (const piece of distinctPieces(body)) {
    digest.update(piece);
    await pause();
  }
  return digest.digest('hex') as Sha256;
}

/**
 * {@link proofHash} of a proof that may be long, and how many bytes its canonical text has.
 * @throws as that
 */
export async function measureProof(
  proof: JsonObject,
  pause: Pause,
): Promise<{ readonly hash: Sha256; readonly sizeBytes: number }> {
  const digest = createHash('sha256');
  let sizeBytes = 0;
  for (const piece of canonicalPieces(proof)) {
    digest.update(piece);
    sizeBytes += Buffer.byteLength(piece);
    await pause();
  }
  return { hash: digest.digest('hex') as Sha256, sizeBytes };
}
