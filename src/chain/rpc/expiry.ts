/**
 * Proves that a transaction without a status never landed, and never will. Absence and enough history must be in one answer: behind
 * one address may be several nodes, not all with the same history.
 */
import type { Address } from '../../values/address.js';
import { base58Encode } from '../../values/base58.js';
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
  const traces = new Map<Signature, Trace>();
  for (const group of groupsOf(all)) {
    const trace = await traceGroup(pool, group, sinceSlot);
    for (const { signature } of group) {
      const found = trace(signature);
      if (found !== undefined) traces.set(signature, found);
    }
  }
  return traces;
}

const messageOf = ({ bytes }: Sought) => bytes && decodeTransaction(bytes).message;

/** With one blockhash and one fee payer. */
function groupsOf(all: readonly Sought[]): Iterable<readonly Sought[]> {
  const groups = new Map<string, Sought[]>();
  for (const one of all) {
    const name = `${payerOf(one)} ${one.lastValidBlockHeight}`;
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  return groups.values();
}

const payerOf = (one: Sought): Address | undefined => one.payer ?? messageOf(one)?.staticKeys[0];

async function traceGroup(
  pool: NodePool,
  group: readonly Sought[],
  sinceSlot: number,
): Promise<(signature: Signature) => Trace | undefined> {
  const [first] = group as readonly [Sought];
  const { blockhash } = messageOf(first) ?? {};
  // The finalized height may have been told too high.
  if (blockhash && (await pool.agreed(questions.validity(base58Encode(blockhash)), sinceSlot)).value)
    return () => ({ kind: 'open' });
  const older = await olderThan(pool, payerOf(first), first.lastValidBlockHeight - BLOCKHASH_LIFETIME_BLOCKS);
  if (older === undefined) return () => undefined;
  const found = new Map<Signature, Trace>();
  for (const some of chunks(group, MAX_SIGNATURES_PER_CALL - 1)) {
    const signatures = some.map(({ signature }) => signature);
    const question = questions.statuses([...signatures, older.signature]);
    const voices = await pool.ask(question, { minContextSlot: sinceSlot });
    if (!voices.every(({ value }) => value.at(-1)?.slot === older.slot)) continue;
    for (const [at, signature] of signatures.entries())
      found.set(signature, { kind: voices.every(({ value }) => value[at] === null) ? 'never' : 'open' });
  }
  return (signature) => found.get(signature);
}

/** A transaction that names the account and landed at this block height or below; `undefined`: no node lists one. */
async function olderThan(
  pool: NodePool,
  account: Address | undefined,
  height: bigint,
): Promise<Pick<PastTransaction, 'signature' | 'slot'> | undefined> {
  let before: Signature | undefined;
  for (let pages = 0; account !== undefined && pages < MAX_PAGES; pages += 1) {
    const page = await pool.one(questions.past(account, before, SIGNATURES_PER_PAGE));
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
