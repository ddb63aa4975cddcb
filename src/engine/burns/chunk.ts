/**
 * One chunk of burns through intent, submit and outcome (one store transaction, one ledger commit, one store
 * transaction). What becomes of a burn is only ever learned by looking its signature up.
 */
import { invariant } from '../../errors/flywheel-error.js';
import type { BurnIntent, BurnOutcome, BurnRecord, RequestRecord } from '../../store/records.js';
import type { DayUse } from '../../store/repositories/usage.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime, type UtcDay, utcDay } from '../../values/time.js';
import { dayOfUse } from '../daily-cap.js';
import { burnsOf, tellSettled, tellSigned } from '../events.js';
import type { Lease } from '../lease.js';
import type { Failed, Landed, Unit } from '../settle/fate.js';
import { settle } from '../settle/settle.js';
import type { SigningTerms } from '../signing-terms.js';
import { BurnAllowance, type BurnWalletBalance } from './allowance.js';
import {
  type BurnContext,
  type BurnSource,
  type BurnTerms,
  burnSigningTerms,
  type SignedBurn,
  signBurns,
} from './burn-transaction.js';
import type { PreparedBurn, Refusal } from './prepare-burns.js';

/** An element that may be burned, and its position in the request. */
export type ChunkElement = PreparedBurn & Pick<BurnRecord, 'index'>;

/** A burn that may be under way: its intent is stored. */
export type OpenBurn = Omit<BurnIntent, 'requestId' | 'tokenId' | 'keyId' | 'dateCreated'>;

/** What of these burns may be under way. */
export const openOf = (burns: readonly BurnRecord[]): readonly OpenBurn[] =>
  burns
    .filter(({ status }) => status === 'PENDING')
    .map(({ transaction, ...burn }) => {
      invariant(transaction !== null, 'A pending burn has its bytes.');
      return { ...burn, transaction };
    });

/** Intents of a chunk, and the elements that got none. */
export interface Written {
  readonly burns: readonly OpenBurn[];
  readonly refusals: ReadonlyMap<number, Refusal>;
}

/** What intents are written on the strength of. */
interface IntentBasis {
  readonly balance: BurnWalletBalance;
  readonly recent: SigningTerms;
  /** Is nothing on its way whose end might make room? Else nothing is refused yet. */
  readonly isSure: boolean;
}

interface Selected<Element> {
  /** On which they count. */
  readonly day: UtcDay;
  readonly accepted: readonly Element[];
  readonly refusals: ReadonlyMap<number, Refusal>;
  readonly sequences: readonly number[];
}

/**
 * Elements that balance and cap allow, in order, and why the others are refused. Nothing is reserved beside: a pending burn
 * counts against the cap by itself.
 * @param count - of sequence numbers for them.
 */
async function select<Element extends ChunkElement>(
  context: BurnContext,
  tx: StoreTransaction,
  elements: readonly Element[],
  { balance, count }: { readonly balance: BurnWalletBalance; readonly count: number },
): Promise<Selected<Element>> {
  const reserved = await tx.burns.reserve(context.token.id, utcDay(tx.nowMs), count);
  const allowance = new BurnAllowance(context, balance, reserved);
  const refusals = new Map<number, Refusal>();
  const accepted: Element[] = [];
  for (const element of elements) {
    const refusal = allowance.take(element.amount);
    if (refusal === undefined) accepted.push(element);
    else refusals.set(element.index, refusal);
  }
  return { day: reserved.day, accepted, refusals, sequences: reserved.sequences };
}

/** An element that is signed and not stored. */
type SignedElement = ChunkElement & BurnTerms & SignedBurn;

/** Elements that were signed before their intents can be written, and those that were refused. */
interface SignedAhead {
  readonly signed: readonly SignedElement[];
  readonly refusals: ReadonlyMap<number, Refusal>;
}

function sign(
  { deps, token }: BurnSource,
  { accepted, sequences }: Selected<ChunkElement>,
  recent: SigningTerms,
): Promise<readonly SignedElement[]> {
  const terms = accepted.map((element, at) => {
    const sequence = sequences[at];
    invariant(sequence !== undefined, 'Every accepted burn has a number.');
    return { ...element, sequence };
  });
  return signBurns(token, deps.keyring.get(token.burnWallet, 'burn wallet'), terms, recent);
}

/**
 * Has elements signed by somebody who takes time, before the transaction that writes their intents: nobody else could write
 * meanwhile. What is signed here and not stored in the end is never sent.
 * @param onRefused - hears what balance and cap refuse; nothing is signed or written if it throws.
 * @returns `undefined`, with nothing signed, where that cannot be said yet.
 */
export async function signAhead(
  context: BurnContext,
  elements: readonly ChunkElement[],
  { balance, recent, isSure }: IntentBasis,
  onRefused: (refusals: ReadonlyMap<number, Refusal>) => void,
): Promise<SignedAhead | undefined> {
  const chosen = await context.deps.store.transaction(async (tx) => {
    const found = await select(context, tx, elements, { balance, count: elements.length });
    if (!isSure && found.refusals.size > 0) return undefined;
    onRefused(found.refusals);
    return found;
  }, context.principal.key);
  return chosen && { signed: await sign(context, chosen, recent), refusals: chosen.refusals };
}

/**
 * Writes the intents of elements that have none, within balance and cap: sequence, signed transaction.
 * @param ahead - what was signed before, where signing takes time; nothing else is accepted then.
 * @returns the burns to submit, and the elements that were refused; `undefined`, with nothing written, where it cannot be said yet.
 */
export async function writeIntents(
  context: BurnContext,
  tx: StoreTransaction,
  request: RequestRecord,
  elements: readonly ChunkElement[],
  { balance, recent, isSure }: IntentBasis,
  ahead?: SignedAhead,
): Promise<Written | undefined> {
  const found = ahead
    ? await select(context, tx, ahead.signed, { balance, count: 0 })
    : await select(context, tx, elements, { balance, count: elements.length });
  const refusals = new Map([...(ahead?.refusals ?? []), ...found.refusals]);
  if (!isSure && refusals.size > 0) return undefined;
  const signed = ahead ? (found.accepted as readonly SignedElement[]) : await sign(context, found, recent);
  const keyId = context.principal.key.id;
  const dateCreated = isoTime(tx.nowMs);
  const intents = signed.map((element) => ({ ...element, keyId, day: found.day, dateCreated }));
  await tx.burns.insertMany(request, intents);
  tx.whenCommitted(() => tellSigned(context.deps, burnsOf(request.id), intents.map(unitOf)));
  return { burns: intents, refusals };
}

/** A burn with its outcome. */
export type SettledBurn = OpenBurn & BurnOutcome;

/** A burn is a unit of one transaction. */
interface BurnUnit extends Unit {
  readonly burn: OpenBurn;
}

const unitOf = (burn: OpenBurn): BurnUnit => ({
  burn,
  transactions: [{ signature: burn.signature, bytes: burn.transaction }],
  lastValidBlockHeight: burn.lastValidBlockHeight,
});

/**
 * Submits burns and finds out what became of them.
 *
 * @param how - `areNew`: they were stored just now, so are certain not to have been submitted.
 * @throws `ERR_UNAVAILABLE` when the outcome of some burn is not known yet; running the request again finds it.
 */
export async function settleBurns(
  source: BurnSource,
  burns: readonly OpenBurn[],
  { areNew, lease }: { readonly areNew: boolean; readonly lease: Lease },
): Promise<readonly SettledBurn[]> {
  const settled = await settle(source.deps.chain, {
    units: burns.map(unitOf),
    areNew,
    lease,
    renew: (expired) => signAgain(source, expired, lease),
  });
  tellSettled(source.deps, burnsOf(lease.id), settled);
  return settled.map(({ unit: { burn }, end }) => ({ ...burn, ...outcomeOf(source, burn, end) }));
}

function outcomeOf({ deps, token }: BurnSource, burn: OpenBurn, end: Landed | Failed): BurnOutcome {
  const [record] = end.records;
  const settled = {
    sequence: burn.sequence,
    // 0 where no node tells the time of the block.
    dateSettled: isoTime(record?.blockTimeMs || deps.store.latestMs()),
    feeLamports: record?.feeLamports ?? null,
  };
  if (end.kind === 'landed')
    return { ...settled, status: end.isFinal ? 'FINAL' : 'CONFIRMED', errorCode: null, errorMessage: null };
  const errorMessage =
    end.rejection === null
      ? `The burn of ${token.symbol} failed on chain: ${end.reason} (transaction ${burn.signature}).`
      : `The chain refused the burn: ${end.reason}; the burn wallet is ${token.burnWallet}.`;
  return { ...settled, status: 'FAILED', errorCode: 'ERR_BURN_TOKENOMICS_FAILED', errorMessage };
}

async function signAgain(
  { deps, token }: BurnSource,
  expired: readonly BurnUnit[],
  lease: Lease,
): Promise<readonly BurnUnit[]> {
  const wallet = deps.keyring.get(token.burnWallet, 'burn wallet');
  const burns = expired.map(({ burn }) => burn);
  const recent = await burnSigningTerms(deps.chain, token, burns);
  const renewed = (await signBurns(token, wallet, burns, recent)).map(unitOf);
  await lease.write(async (tx) => {
    for (const [position, { burn }] of renewed.entries()) {
      const before = expired[position]?.burn.signature;
      if (before !== undefined) await tx.burns.resign(burn.sequence, before, burn);
    }
  });
  tellSigned(deps, burnsOf(lease.id), renewed);
  return renewed;
}

/** Writes outcomes, and adds to the daily use what has landed for good. */
export async function writeOutcomes(
  tx: StoreTransaction,
  tokenId: string,
  settled: readonly SettledBurn[],
): Promise<void> {
  if (settled.length === 0) return;
  const final = settled.filter(({ status }) => status === 'FINAL');
  await tx.burns.settleMany(settled, useOf(tokenId, final));
}

/** No fork can take these back any more: those of them that are still confirmed add to the daily use. */
export async function writeFinal(
  tx: StoreTransaction,
  tokenId: string,
  confirmed: readonly Pick<BurnRecord, 'signature'>[],
): Promise<void> {
  const final = await tx.burns.finalize(confirmed.map(({ signature }) => signature));
  for (const { amount, ...counter } of useOf(tokenId, final)) await tx.usage.addLanded(counter, amount);
}

/** What burns that have landed for good add to each day. */
function useOf(
  tokenId: string,
  burns: readonly Pick<BurnRecord, 'day' | 'amount' | 'dateSettled'>[],
): readonly DayUse[] {
  const days = new Map<UtcDay, bigint>();
  for (const burn of burns) {
    const day = dayOfUse(burn.day, Date.parse(burn.dateSettled ?? ''));
    days.set(day, (days.get(day) ?? 0n) + burn.amount);
  }
  return Array.from(days, ([day, amount]) => ({ tokenId, day, kind: 'burn', amount }));
}
