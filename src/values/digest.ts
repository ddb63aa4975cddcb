/** SHA-256 digests, as lowercase hex. */
import { hash } from 'node:crypto';
import { canonicalJson, distinctText, type JsonObject, type JsonValue } from './canonical-json.js';

declare const brand: unique symbol;

export type Sha256 = string & { readonly [brand]: 'Sha256' };

export const isSha256 = (text: string): text is Sha256 => /^[0-9a-f]{64}$/.test(text);

export const sha256 = (data: Uint8Array | string): Sha256 => hash('sha256', data, 'hex') as Sha256;

/**
 * The hash of a proof: SHA-256 of its canonical JSON (contract, section 1.6).
 * @throws `ERR_INVALID_REQUEST` for a proof without canonical JSON, see {@link canonicalJson}.
 */
export const proofHash = (proof: JsonObject): Sha256 => sha256(canonicalJson(proof));

/** SHA-256 of a text that only equal request bodies have. */
export const fingerprint = (body: JsonValue): Sha256 => sha256(distinctText(body));
