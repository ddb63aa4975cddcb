/** Text → proof: a JSON object without duplicate keys, no larger than the contract allows. */
import { MAX_PROOF_BYTES } from '../../contract/limits.js';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../values/canonical-json.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { inInput, inputError, type NamedText } from './read-input.js';

/** What is wrong with a proof, without a full stop; `undefined` when nothing is. */
export function proofProblem(proof: JsonValue | undefined): string | undefined {
  if (!isJsonObject(proof)) return 'expected a JSON object';
  const size = Buffer.byteLength(canonicalJson(proof));
  return size > MAX_PROOF_BYTES
    ? `the proof has ${size} bytes; at most ${MAX_PROOF_BYTES} are allowed`
    : undefined;
}

/**
 * A proof from text.
 * @throws `ERR_INPUT_INVALID` naming where the text came from.
 */
export function readProof({ name, text }: NamedText): JsonObject {
  return inInput(name, () => {
    const { value } = parseStrictJson(text);
    const problem = proofProblem(value);
    if (problem !== undefined || !isJsonObject(value))
      throw inputError(name, problem ?? 'expected a JSON object');
    return value;
  });
}
