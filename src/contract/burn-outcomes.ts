/** Which element of a burn-batch each entry of the answer belongs to; the answer itself holds no index. */
import { canonicalJson, type JsonObject, type JsonValue } from '../values/canonical-json.js';
import { proofHash, sha256 } from '../values/digest.js';
import { jsonText } from '../values/exact-number.js';
import { parseStrictJson } from '../values/strict-json.js';
import type { ElementOutcome } from './call.js';
import type { BurnBatchResult, BurnError, BurnRequest, BurnResult } from './schemas/burn.js';

interface Attribution {
  /** In the order of the request; some are missing where there is a problem. */
  readonly outcomes: readonly ElementOutcome[];
  /** Why the answer cannot be that to the request. */
  readonly problem?: string;
  /** The hash of a success that is none of those that we can compute. */
  readonly foreignHash?: string;
  /** Elements of which the answer leaves open which burned and which failed, in words. */
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

/** A text that equal proofs have; what has no canonical form stands for itself. */
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
 * The outcomes in the order of the request, whatever the order of the answer. A success is known by type and hash, an error
 * by type and proof; of elements that are alike the first in the request takes the first in the answer, successes first.
 *
 * A service may hash in its own way: what is left over is attributed by type and order, as long as that leaves no doubt
 * whether an element burned. Where it does, that is a problem and not a guess.
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
  // What neither hash nor proof tells of.
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

/** Elements alike in type and proof, of which some burned and some failed, matter only where they differ otherwise. */
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
    // It has no canonical form; the service will say so.
    return [sha256(asSent)];
  }
}

/** SHA-256 of the canonical JSON of a proof, and of the proof exactly as it was sent. */
export const knownHashes = (proof: JsonObject): readonly string[] => hashesOf(jsonText(proof), () => proof);

/** {@link knownHashes} of a payload: a proof as JSON text. */
export const knownHashesOfText = (payload: string): readonly string[] =>
  hashesOf(payload, () => parseStrictJson(payload).value as JsonObject);
