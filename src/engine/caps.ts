/** Daily caps (contract, section 1.4): days, checks, messages, and reservations of batches. */
import type { TransactionRecord } from '../chain/chain.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { BatchRecord, FlywheelRecord, PlannedPipeline, TokenRecord } from '../store/records.js';
import type { Landing } from '../store/repositories/pipelines.js';
import type { UsageKind } from '../store/repositories/usage.js';
import type { Row } from '../store/schema.js';
import type { StoreTransaction } from '../store/store.js';
import { isoTime, type UtcDay, utcDay } from '../values/time.js';
import { tokenText } from '../values/token-amount.js';
import type { EngineDeps } from './deps.js';

const CAPS = { burn: 'dailyBurnCap', airdrop: 'dailyAirdropCap' } as const satisfies Record<
  UsageKind,
  string
>;

export const USAGE_KINDS = Object.keys(CAPS) as readonly UsageKind[];

type Amounts = Readonly<Record<UsageKind, bigint>>;

export const dailyCap = (flywheel: FlywheelRecord | undefined, kind: UsageKind): bigint | null =>
  flywheel?.[CAPS[kind]] ?? null;

/** Today, but never before the latest day with a landing: a clock set back must not reopen a day. */
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

/** Maximum lead of a block time over the store's clock; accepting a later time would skip the days between. */
const MAX_AHEAD_MS = 86_400_000;

/** Block time of the landing; now, if no node has a plausible one. */
export function landedMs(
  record: Pick<TransactionRecord, 'blockTimeMs'> | null | undefined,
  { store, chain }: Pick<EngineDeps, 'store' | 'chain'>,
): number {
  const [timeMs, nowMs] = [record?.blockTimeMs ?? 0, store.latestMs()];
  // The local ledger's own time is trusted: it is ahead only if the clock was set back.
  const canBe = chain.pollMs === null || timeMs <= nowMs + MAX_AHEAD_MS;
  return timeMs > 0 && canBe ? timeMs : nowMs;
}

/** The day of landing, but never before the day of acceptance: the caps of earlier days were not checked. */
export function dayOfUse(accepted: UtcDay, landedMs: number): UtcDay {
  const day = utcDay(landedMs);
  return day > accepted ? day : accepted;
}

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
  /** Excludes the holds of this batch, whose amounts are the request. */
  readonly exceptBatch?: string;
}

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

/** @throws `ERR_DAILY_LIMIT_EXCEEDED` with every exceeded cap. */
export async function requireCaps(tx: StoreTransaction, request: CapRequest): Promise<void> {
  const sentences = await exceededCaps(tx, request);
  if (sentences.length > 0) throw new FlywheelError('ERR_DAILY_LIMIT_EXCEEDED', sentences.join(' '));
}

interface LandedPipeline extends Pick<Landing, 'position' | 'signature'> {
  readonly landedMs: number;
  /** Already counted as part of an accepted gap. */
  readonly isCounted?: boolean;
}

export const amountsOf = (pipelines: readonly PlannedPipeline[]): Amounts => {
  const total = (kind: UsageKind): bigint => pipelines.reduce((sum, pipeline) => sum + pipeline[kind], 0n);
  return { burn: total('burn'), airdrop: total('airdrop') };
};

async function setHolds(
  tx: StoreTransaction,
  { id, tokenId }: BatchRecord,
  amounts: Amounts,
  days: Pick<Row<'usageHolds'>, 'fromDay' | 'toDay'>,
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

/** @throws `ERR_DAILY_LIMIT_EXCEEDED` when the rest of the batch exceeds a cap of today. */
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

/** A reservation made before a cap was lowered stays valid. */
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

/**
 * The rest of the batch counts on every day from today until it has landed or can no longer run: any member can execute it.
 * Before, a waiting batch counts on the day of its init.
 */
export async function holdFromNow(tx: StoreTransaction, batch: BatchRecord): Promise<void> {
  const fromDay = await dayOfNow(tx, batch.tokenId);
  await setHolds(tx, batch, await heldAmounts(tx, batch), { fromDay, toDay: null });
}

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
