/** Maps the entries of a burn-batch answer to the elements of its request, because the answer has no index. */
import type { ElementOutcome } from '../contract/call.js';
import type { BurnBatchResult, BurnError, BurnRequest, BurnResult } from '../contract/schemas/burn.js';
import { canonicalJson, type JsonObject, type JsonValue } from '../values/canonical-json.js';
import { proofHash, sha256 } from '../values/digest.js';
import { jsonText } from '../values/exact-number.js';
import { parseStrictJson } from '../values/strict-json.js';

interface Attribution {
  readonly outcomes: readonly ElementOutcome[];
  readonly problem?: string;
  /** Hash of a success that differs from all hashes that the client can compute. */
  readonly foreignHash?: string;
  /** Elements whose outcome the answer leaves ambiguous, as text. */
  readonly doubt?: string;
}

function byKey<Thing>(things: readonly Thing[], keyOf: (thing: Thing) => string): Map<string, Thing[]> {
  const lists = new Map<string, Thing[]>();
  for (const thing of things) {
    const key = keyOf(thing);
    const list = lists.get(key);
    if (list === undefined) lists.set(key, [thing]);
    else list.push(thing);
  }
  return lists;
}

/** Equal for equal proofs. A proof without a canonical form is compared as sent. */
function comparable(proof: JsonValue): string {
  try {
    return canonicalJson(proof);
  } catch {
    return jsonText(proof);
  }
}

const keyOf = (type: string, proof: string): string => JSON.stringify([type, proof]);
const success = (index: number, entry: BurnResult): ElementOutcome => ({
  index,
  status: 'success',
  ...entry,
});
const failure = (index: number, entry: BurnError): ElementOutcome => ({ index, status: 'error', ...entry });

/**
 * Returns outcomes in the order of the request, for any order of the answer. A success matches by type and hash, an error by type
 * and proof; among equal elements the first of the request gets the first of the answer, successes first. A service may hash
 * differently: the remaining entries are matched by type and order, unless that leaves open whether an element burned. That case
 * is a problem, never a guess.
 */
export function attributeOutcomes(request: readonly BurnRequest[], result: BurnBatchResult): Attribution {
  const given = result.success.length + result.errors.length;
  if (given !== request.length)
    return { outcomes: [], problem: `${given} results for ${request.length} elements` };
  const successes = byKey(result.success, ({ type, hash }) => keyOf(type, hash.toLowerCase()));
  const errors = byKey(result.errors, ({ proofType, proof }) => keyOf(proofType, comparable(proof)));
  const outcomes: (ElementOutcome | undefined)[] = request.map(({ type, proof }, index) => {
    for (const hash of knownHashes(proof)) {
      const entry = successes.get(keyOf(type, hash))?.shift();
      if (entry !== undefined) return success(index, entry);
    }
    const entry = errors.get(keyOf(type, comparable(proof)))?.shift();
    return entry === undefined ? undefined : failure(index, entry);
  });
  const burned = [...successes.values()].flat();
  const left = request.flatMap(({ type }, index) => (outcomes[index] === undefined ? [{ type, index }] : []));
  const burnedOf = byKey(burned, ({ type }) => type);
  const failedOf = byKey([...errors.values()].flat(), ({ proofType }) => proofType);
  const problem = restProblem(
    burnedOf,
    failedOf,
    byKey(left, ({ type }) => type),
  );
  for (const { type, index } of problem === undefined ? left : []) {
    const entry = burnedOf.get(type)?.shift();
    const error = entry === undefined ? failedOf.get(type)?.shift() : undefined;
    outcomes[index] = entry === undefined ? error && failure(index, error) : success(index, entry);
  }
  const found = outcomes.filter((outcome) => outcome !== undefined);
  const doubt = doubtAmongTwins(request, found);
  const [foreign] = burned;
  return {
    outcomes: found,
    ...(problem === undefined ? {} : { problem }),
    ...(foreign === undefined ? {} : { foreignHash: foreign.hash }),
    ...(doubt === undefined ? {} : { doubt }),
  };
}

function restProblem(
  burned: ReadonlyMap<string, unknown[]>,
  failed: ReadonlyMap<string, unknown[]>,
  open: ReadonlyMap<string, unknown[]>,
): string | undefined {
  const countOf = (lists: ReadonlyMap<string, unknown[]>, type: string): number =>
    lists.get(type)?.length ?? 0;
  for (const type of new Set([...burned.keys(), ...failed.keys(), ...open.keys()])) {
    const name = JSON.stringify(type.slice(0, 100));
    const [burns, failures, elements] = [countOf(burned, type), countOf(failed, type), countOf(open, type)];
    if (elements === 0) return `a result of type ${name} for an element that was not sent`;
    if (burns + failures !== elements) return `no result for an element of type ${name}`;
    if (burns > 0 && failures > 0) return `unclear which elements of type ${name} burned and which failed`;
  }
  return undefined;
}

/** Elements equal in type and proof with different outcomes are ambiguous only if they differ in another field. */
function doubtAmongTwins(
  request: readonly BurnRequest[],
  outcomes: readonly ElementOutcome[],
): string | undefined {
  const twins = byKey(outcomes, ({ index }) => {
    const { type = '', proof = null } = request[index] ?? {};
    return keyOf(type, comparable(proof));
  });
  const differ = (values: readonly unknown[]): boolean => new Set(values).size > 1;
  for (const alike of twins.values()) {
    const elements = alike.map(({ index }) => request[index]);
    if (
      differ(alike.map(({ status }) => status)) &&
      (differ(elements.map((one) => one?.burnAmount)) || differ(elements.map((one) => one?.persistOnchain)))
    )
      return alike.map(({ index }) => index).join(', ');
  }
  return undefined;
}

function hashesOf(asSent: string, proof: () => JsonObject): readonly string[] {
  try {
    return [...new Set([proofHash(proof()), sha256(asSent)])];
  } catch {
    return [sha256(asSent)];
  }
}

/** SHA-256 of the canonical JSON of a proof, and of the proof exactly as sent. */
export const knownHashes = (proof: JsonObject): readonly string[] => hashesOf(jsonText(proof), () => proof);

export const knownHashesOfText = (payload: string): readonly string[] =>
  hashesOf(payload, () => parseStrictJson(payload).value as JsonObject);
