/** Which element of a burn-batch each entry of the answer belongs to; the answer itself holds no index. */
import { canonicalJson, type JsonValue } from '../values/canonical-json.js';
import { jsonText } from '../values/exact-number.js';
import type { ElementOutcome } from './call.js';
import { knownHashes } from './proof-hashes.js';
import type { BurnBatchResult, BurnError, BurnRequest, BurnResult } from './schemas/burn.js';

/** What of an answer belongs to which element. */
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

/** Things that wait to be taken, first come first served, by what tells them apart. */
class Waiting<Thing> {
  readonly #byKey = new Map<string, Thing[]>();

  add(key: string, thing: Thing): void {
    const things = this.#byKey.get(key);
    if (things === undefined) this.#byKey.set(key, [thing]);
    else things.push(thing);
  }

  take(key: string): Thing | undefined {
    return this.#byKey.get(key)?.shift();
  }

  count(key: string): number {
    return this.#byKey.get(key)?.length ?? 0;
  }

  entries(): readonly (readonly [string, readonly Thing[]])[] {
    return [...this.#byKey].filter(([, things]) => things.length > 0);
  }

  /** What still waits, by another key. */
  regrouped(keyOf: (thing: Thing) => string): Waiting<Thing> {
    const regrouped = new Waiting<Thing>();
    for (const [, things] of this.entries()) for (const thing of things) regrouped.add(keyOf(thing), thing);
    return regrouped;
  }
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

/** What neither hash nor proof tells of, by type. */
interface Rest {
  readonly burned: Waiting<BurnResult>;
  readonly failed: Waiting<BurnError>;
  /** Indexes of elements. */
  readonly open: Waiting<number>;
}

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
    return { outcomes: [], problem: `it has ${given} results for ${request.length} elements` };
  const successes = new Waiting<BurnResult>();
  const errors = new Waiting<BurnError>();
  for (const entry of result.success) successes.add(keyOf(entry.type, entry.hash.toLowerCase()), entry);
  for (const entry of result.errors) errors.add(keyOf(entry.proofType, comparable(entry.proof)), entry);
  const outcomes: (ElementOutcome | undefined)[] = request.map(({ type, proof }, index) => {
    for (const hash of knownHashes(proof)) {
      const entry = successes.take(keyOf(type, hash));
      if (entry !== undefined) return success(index, entry);
    }
    const entry = errors.take(keyOf(type, comparable(proof)));
    return entry === undefined ? undefined : failure(index, entry);
  });
  const rest: Rest = {
    burned: successes.regrouped(({ type }) => type),
    failed: errors.regrouped(({ proofType }) => proofType),
    open: new Waiting<number>(),
  };
  for (const [index, { type }] of request.entries())
    if (outcomes[index] === undefined) rest.open.add(type, index);
  const foreignHash = rest.burned.entries()[0]?.[1][0]?.hash;
  const problem = restProblem(rest);
  if (problem === undefined) attributeRest(rest, outcomes);
  const found = outcomes.filter((outcome) => outcome !== undefined);
  const doubt = doubtAmongTwins(request, found);
  return {
    outcomes: found,
    ...(problem === undefined ? {} : { problem }),
    ...(foreignHash === undefined ? {} : { foreignHash }),
    ...(doubt === undefined ? {} : { doubt }),
  };
}

function restProblem({ burned, failed, open }: Rest): string | undefined {
  const types = new Set([burned, failed, open].flatMap((each) => each.entries().map(([type]) => type)));
  for (const type of types) {
    const name = JSON.stringify(type.slice(0, 100));
    if (open.count(type) === 0) return `it has a result of type ${name} for an element that was not sent`;
    if (burned.count(type) + failed.count(type) !== open.count(type))
      return `it has no result for an element of type ${name}`;
    if (burned.count(type) > 0 && failed.count(type) > 0)
      return `it does not say which elements of type ${name} burned and which failed`;
  }
  return undefined;
}

function attributeRest({ burned, failed, open }: Rest, outcomes: (ElementOutcome | undefined)[]): void {
  for (const [type, indexes] of open.entries()) {
    for (const index of indexes) {
      const entry = burned.take(type);
      const error = entry === undefined ? failed.take(type) : undefined;
      if (entry !== undefined) outcomes[index] = success(index, entry);
      else if (error !== undefined) outcomes[index] = failure(index, error);
    }
  }
}

/** Elements alike in type and proof, of which some burned and some failed, matter only where they differ otherwise. */
function doubtAmongTwins(
  request: readonly BurnRequest[],
  outcomes: readonly ElementOutcome[],
): string | undefined {
  const twins = new Waiting<ElementOutcome>();
  for (const outcome of outcomes) {
    const element = request[outcome.index];
    if (element !== undefined) twins.add(keyOf(element.type, comparable(element.proof)), outcome);
  }
  for (const [, alike] of twins.entries()) {
    const differ = (of: (index: number) => unknown): boolean =>
      new Set(alike.map(({ index }) => of(index))).size > 1;
    const mixed = new Set(alike.map(({ status }) => status)).size > 1;
    if (!mixed) continue;
    if (differ((index) => request[index]?.burnAmount) || differ((index) => request[index]?.persistOnchain))
      return alike.map(({ index }) => index).join(', ');
  }
  return undefined;
}
