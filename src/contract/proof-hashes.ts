/** Hashes that a service may rightly tell of a proof: canonical JSON is the choice of our contract, not of the specification. */
import type { JsonObject } from '../values/canonical-json.js';
import { proofHash, sha256 } from '../values/digest.js';
import { jsonText } from '../values/exact-number.js';
import { parseStrictJson } from '../values/strict-json.js';

/** SHA-256 of the canonical JSON of a proof, and of the proof exactly as it was sent. */
export function knownHashes(proof: JsonObject): readonly string[] {
  const asSent = sha256(jsonText(proof));
  try {
    return [...new Set([proofHash(proof), asSent])];
  } catch {
    // It has no canonical form; the service will say so.
    return [asSent];
  }
}

/** {@link knownHashes} of a payload: a proof as JSON text. */
export function knownHashesOfText(payload: string): readonly string[] {
  const asSent = sha256(payload);
  try {
    return [...new Set([proofHash(parseStrictJson(payload).value as JsonObject), asSent])];
  } catch {
    return [asSent];
  }
}
