/**
 * Daily caps (contract, section 1.4): the day that counts, the decision, its sentence, and what of a batch counts before it has landed.
 * While it waits, its amounts count on the day of its init; as soon as it can run, what is left of it counts every day, until it has
 * landed or can run no more.
 */
import type { TransactionRecord } from '../chain/chain.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { BatchRecord, FlywheelRecord, PlannedPipeline, TokenRecord } from '../store/records.js';
import type { Landing } from '../store/repositories/pipelines.js';
import type { UsageHold, UsageKind } from '../store/repositories/usage.js';
import type { StoreTransaction } from '../store/store.js';
import { isoTime, type UtcDay, utcDay } from '../values/time.js';
import { tokenText } from './amount-text.js';
import type { EngineDeps } from './deps.js';

const CAPS = { burn: 'dailyBurnCap', airdrop: 'dailyAirdropCap' } as const satisfies Record<
  UsageKind,
  string
>;

export const USAGE_KINDS = Object.keys(CAPS) as readonly UsageKind[];

type Amounts = Readonly<Record<UsageKind, bigint>>;

/** Base units that may be burned or airdropped on one UTC day; `null` for no cap. */
export const dailyCap = (flywheel: FlywheelRecord | undefined, kind: UsageKind): bigint | null =>
  flywheel?.[CAPS[kind]] ?? null;

/** The day of now, but none before the latest on which something landed: a clock that goes back opens no day once more. */
export async function dayOfNow(tx: StoreTransaction, tokenId: string): Promise<UtcDay> {
  const latest = await tx.usage.latestDay(tokenId);
  const day = utcDay(tx.nowMs);
  return latest !== undefined && latest > day ? latest : day;
}

export async function usedToday(
  tx: StoreTransaction,
  tokenId: string,
): Promise<{ readonly day: UtcDay } & Amounts> {
  const day = await dayOfNow(tx, tokenId);
  const of = (kind: UsageKind): Promise<bigint> => tx.usage.used({ tokenId, day, kind });
  return { day, burn: await of('burn'), airdrop: await of('airdrop') };
}

/** By how much a block of a cluster may be ahead of the store's clock: a node that says more would end the days until then. */
const MAX_AHEAD_MS = 86_400_000;

/** When something has landed: the time of its block; now, where no node tells one that can be. */
export function landedMs(
  record: Pick<TransactionRecord, 'blockTimeMs'> | null | undefined,
  { store, chain }: Pick<EngineDeps, 'store' | 'chain'>,
): number {
  const [timeMs, nowMs] = [record?.blockTimeMs ?? 0, store.latestMs()];
  // A ledger in a file is nobody's word: it is ahead where the clock was set back.
  const canBe = chain.pollMs === null || timeMs <= nowMs + MAX_AHEAD_MS;
  return timeMs > 0 && canBe ? timeMs : nowMs;
}

/** The day on which a landing counts: never one before the day it was accepted for, whose cap was not asked. */
export function dayOfUse(accepted: UtcDay, landedMs: number): UtcDay {
  const day = utcDay(landedMs);
  return day > accepted ? day : accepted;
}

/** The sentence of a refused amount: cap, what is used, what was asked. */
export function capExceededMessage(
  token: TokenRecord,
  at: { readonly kind: UsageKind; readonly day: UtcDay } & Readonly<Record<'cap' | 'used' | 'asked', bigint>>,
): string {
  const text = (amount: bigint): string => tokenText(amount, token);
  return `The request exceeds the daily ${at.kind} cap of ${text(at.cap)}: ${text(at.used)} are used or reserved on ${at.day} (UTC), and ${text(at.asked)} more are requested.`;
}

interface CapRequest {
  readonly token: TokenRecord;
  readonly flywheel: FlywheelRecord | undefined;
  readonly day: UtcDay;
  readonly asked: Amounts;
  /** A batch whose own holds are not counted, because they are what is asked for. */
  readonly exceptBatch?: string;
}

/** The sentences of all caps that the request would pass; none when it is within them. */
export async function exceededCaps(
  tx: StoreTransaction,
  { token, flywheel, day, asked, exceptBatch }: CapRequest,
): Promise<readonly string[]> {
  const sentences: string[] = [];
  for (const kind of USAGE_KINDS) {
    const cap = dailyCap(flywheel, kind);
    if (cap === null || asked[kind] === 0n) continue;
    const used = await tx.usage.used({ tokenId: token.id, day, kind }, exceptBatch);
    if (used + asked[kind] <= cap) continue;
    sentences.push(capExceededMessage(token, { kind, cap, used, asked: asked[kind], day }));
  }
  return sentences;
}

/** @throws `ERR_DAILY_LIMIT_EXCEEDED` with every cap that the request would pass. */
export async function requireCaps(tx: StoreTransaction, request: CapRequest): Promise<void> {
  const sentences = await exceededCaps(tx, request);
  if (sentences.length > 0) throw new FlywheelError('ERR_DAILY_LIMIT_EXCEEDED', sentences.join(' '));
}

interface LandedPipeline extends Pick<Landing, 'position' | 'signature'> {
  /** Time of its block, or that at which it was found, where no node tells. */
  readonly landedMs: number;
  /** It counts already, as part of a gap that was accepted. */
  readonly isCounted?: boolean;
}

/** What pipelines take, in base units. */
export const amountsOf = (pipelines: readonly PlannedPipeline[]): Amounts => {
  const total = (kind: UsageKind): bigint => pipelines.reduce((sum, pipeline) => sum + pipeline[kind], 0n);
  return { burn: total('burn'), airdrop: total('airdrop') };
};

async function setHolds(
  tx: StoreTransaction,
  { id, tokenId }: BatchRecord,
  amounts: Amounts,
  days: Pick<UsageHold, 'fromDay' | 'toDay'>,
): Promise<void> {
  for (const kind of USAGE_KINDS) {
    await tx.usage.setHold({ batchId: id, tokenId, kind, amount: amounts[kind], ...days });
  }
}

async function heldAmounts(tx: StoreTransaction, batch: BatchRecord): Promise<Amounts> {
  const holds = await tx.usage.holdsOf(batch.id);
  const of = (kind: UsageKind): bigint => holds.find((hold) => hold.kind === kind)?.amount ?? 0n;
  return { burn: of('burn'), airdrop: of('airdrop') };
}

export const holdWhileWaiting = (tx: StoreTransaction, batch: BatchRecord): Promise<void> =>
  setHolds(tx, batch, amountsOf(batch.pipelines), { fromDay: batch.day, toDay: batch.day });

/** @throws `ERR_DAILY_LIMIT_EXCEEDED` when what is left of the batch would pass a cap of today. */
export async function refuseOverCaps(
  tx: StoreTransaction,
  { token, flywheel }: { readonly token: TokenRecord; readonly flywheel: FlywheelRecord },
  batch: BatchRecord,
): Promise<void> {
  const day = await dayOfNow(tx, token.id);
  if (await keepsRoom(tx, batch, flywheel, day)) return;
  const asked = await heldAmounts(tx, batch);
  await requireCaps(tx, { token, flywheel, day, asked, exceptBatch: batch.id });
}

/** Was its room on this day taken before a cap was lowered? That undoes no reservation. */
async function keepsRoom(
  tx: StoreTransaction,
  { id, dateCreated }: BatchRecord,
  { dateCapsLowered }: FlywheelRecord,
  day: UtcDay,
): Promise<boolean> {
  if (dateCapsLowered === null || dateCreated > dateCapsLowered) return false;
  const holds = await tx.usage.holdsOf(id);
  return holds.every(({ fromDay, toDay }) => fromDay <= day && (toDay === null || day <= toDay));
}

/** Lets what is left of the batch count every day from today on: it can run now, no matter who runs it. */
export async function holdFromNow(tx: StoreTransaction, batch: BatchRecord): Promise<void> {
  const fromDay = await dayOfNow(tx, batch.tokenId);
  await setHolds(tx, batch, await heldAmounts(tx, batch), { fromDay, toDay: null });
}

/** Moves pipelines that have landed from what is held to what has been used on the days on which they count. */
export async function countLanded(
  tx: StoreTransaction,
  batch: BatchRecord,
  landed: readonly LandedPipeline[],
): Promise<void> {
  await tx.pipelines.land(
    batch.id,
    landed.map(({ position, signature, landedMs }) => ({
      ...{ position, signature, dateLanded: isoTime(landedMs) },
    })),
  );
  const holds = await tx.usage.holdsOf(batch.id);
  const dayOf = ({ landedMs }: LandedPipeline): UtcDay =>
    holds[0] === undefined ? utcDay(landedMs) : dayOfUse(holds[0].fromDay, landedMs);
  const counting = landed.filter(({ isCounted }) => isCounted !== true);
  for (const day of new Set(counting.map(dayOf))) {
    const ofDay = counting.filter((one) => dayOf(one) === day);
    const amounts = amountsOf(ofDay.flatMap(({ position }) => batch.pipelines[position] ?? []));
    for (const kind of USAGE_KINDS) {
      const amount = amounts[kind];
      if (amount > 0n) await tx.usage.addLanded({ tokenId: batch.tokenId, day, kind }, amount);
    }
  }
  const all = amountsOf(landed.flatMap(({ position }) => batch.pipelines[position] ?? []));
  for (const hold of holds) {
    const left = hold.amount > all[hold.kind] ? hold.amount - all[hold.kind] : 0n;
    if (left !== hold.amount) await tx.usage.setHold({ ...hold, amount: left });
  }
}

export const releaseHolds = (tx: StoreTransaction, batch: BatchRecord): Promise<void> =>
  setHolds(tx, batch, { burn: 0n, airdrop: 0n }, { fromDay: batch.day, toDay: batch.day });
