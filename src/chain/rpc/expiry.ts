/**
 * Proves that a transaction without a status never landed, and never will. Absence and enough history must be in one answer: behind
 * one address may be several nodes, not all with the same history.
 */
import type { Address } from '../../values/address.js';
import { base58Encode } from '../../values/bytes.js';
import {
  BLOCKHASH_LIFETIME_BLOCKS,
  type PastTransaction,
  type Signature,
  type Sought,
  type Trace,
} from '../chain.js';
import { decodeTransaction } from '../transaction/wire.js';
import type { NodePool } from './node-pool.js';
import * as questions from './questions.js';
import { SIGNATURES_PER_PAGE } from './questions.js';

/** Limit of a node (agave, `MAX_GET_SIGNATURE_STATUSES_QUERY_ITEMS`). */
export const MAX_SIGNATURES_PER_CALL = 256;
/** Pages of a list in which an older transaction is searched. */
const MAX_PAGES = 30;

export const chunks = <Value>(values: readonly Value[], size: number): readonly (readonly Value[])[] =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, n) => values.slice(n * size, (n + 1) * size));

/**
 * @param all - transactions whose last valid height is below the finalized one, and of which no node has a status
 * @param sinceSlot - the finalized slot
 * @returns by signature; without an entry, no node has enough history
 */
export async function traceExpired(
  pool: NodePool,
  all: readonly Sought[],
  sinceSlot: number,
): Promise<ReadonlyMap<Signature, Trace>> {
  const nameOf = (one: Sought): string => `${one.lastValidBlockHeight} ${payerOf(one)}`;
  const traces: Traced[] = [];
  for (const name of new Set(all.map(nameOf))) {
    const group = all.filter((one) => nameOf(one) === name);
    traces.push(...(await traceGroup(pool, group, sinceSlot)));
  }
  return new Map(traces);
}

const payerOf = ({ payer, bytes }: Sought): Address | undefined =>
  payer ?? (bytes && decodeTransaction(bytes).message.staticKeys[0]);

type Traced = readonly [Signature, Trace];

/** Of one blockhash and payer. */
async function traceGroup(
  pool: NodePool,
  group: readonly Sought[],
  sinceSlot: number,
): Promise<readonly Traced[]> {
  const [first] = group as [Sought];
  const { bytes, lastValidBlockHeight } = first;
  const question = bytes && questions.validity(base58Encode(decodeTransaction(bytes).message.blockhash));
  // The finalized height may have been told too high.
  if (question !== undefined && (await pool.agreed(question, sinceSlot)).value)
    return group.map(({ signature }) => [signature, { kind: 'open' }]);
  // With a quorum the last height may have been told too high by a lifetime.
  const lifetimes = pool.quorum === 1 ? 1n : 2n;
  const signedAbove = lastValidBlockHeight - lifetimes * BLOCKHASH_LIFETIME_BLOCKS;
  const listed = new Set<Signature>();
  const older = await olderThan(pool, payerOf(first), signedAbove, sinceSlot, listed);
  const found: Traced[] = [];
  if (older === undefined) return found;
  // Some have landed, and are no longer or not yet known by their status.
  const unlisted = group.filter(({ signature }) => !listed.has(signature));
  for (const some of chunks(unlisted, MAX_SIGNATURES_PER_CALL - 1))
    found.push(...(await traceBeside(pool, some, older, sinceSlot)));
  return found;
}

type Older = Pick<PastTransaction, 'signature' | 'slot'>;

const endOf = (page: readonly Older[]): number => page.at(-1)?.slot ?? Number.POSITIVE_INFINITY;

/** @returns nothing if a node does not know the older one. */
async function traceBeside(
  pool: NodePool,
  some: readonly Sought[],
  older: Older,
  minContextSlot: number,
): Promise<readonly Traced[]> {
  const signatures = some.map(({ signature }) => signature);
  const voices = await pool.ask(questions.statuses([...signatures, older.signature]), { minContextSlot });
  if (!voices.every(({ value }) => value.at(-1)?.slot === older.slot)) return [];
  return signatures.map((signature, at) => [
    signature,
    { kind: voices.every(({ value }) => value[at] === null) ? 'never' : 'open' },
  ]);
}

/**
 * A transaction that names the account and landed at this block height or below; `undefined`: a node lists none. Statuses are of the
 * processed state, which may be that of a fork; a list is of a confirmed state as new as asked, and has all since the older one.
 * @param listed - gets what any node lists.
 */
async function olderThan(
  pool: NodePool,
  account: Address | undefined,
  height: bigint,
  minContextSlot: number,
  listed: Set<Signature>,
): Promise<Older | undefined> {
  let before: Signature | undefined;
  for (let count = 0; account !== undefined && count < MAX_PAGES; count += 1) {
    const question = questions.past(account, before, SIGNATURES_PER_PAGE);
    const voices = await pool.ask(question, { minContextSlot });
    for (const { signature } of voices.flatMap(({ value }) => value)) listed.add(signature);
    // The page that goes back least.
    const pages = voices.map(({ value }) => value).toSorted((left, right) => endOf(right) - endOf(left));
    const [page = []] = pages;
    const last = page.at(-1);
    if (last === undefined || (await isAtMost(pool, last.slot, height))) return last;
    if (page.length < SIGNATURES_PER_PAGE) return undefined;
    before = last.signature;
  }
  return undefined;
}

/** There are at least as many slots as blocks, so a low slot implies a low height. */
async function isAtMost(pool: NodePool, slot: number, height: bigint): Promise<boolean> {
  if (BigInt(slot) <= height) return true;
  const voices = await pool.ask(questions.blockHeight(slot));
  return voices.every(({ value }) => value !== null && value <= height);
}
