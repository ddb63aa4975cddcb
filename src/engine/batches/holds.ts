/**
 * What of a batch counts against the daily caps before it has landed: while it waits, its amounts count on the day of its
 * init; as soon as it can run, what is left of it counts every day, until it has landed or can run no more.
 */
import type { BatchRecord, FlywheelRecord, PlannedPipeline } from '../../store/records.js';
import type { Landing } from '../../store/repositories/pipelines.js';
import type { UsageHold, UsageKind } from '../../store/repositories/usage.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime, type UtcDay, utcDay } from '../../values/time.js';
import { dayOfNow, dayOfUse, requireCaps, USAGE_KINDS } from '../daily-cap.js';
import type { BatchContext } from './batch-context.js';
import { totalAirdrop, totalBurn } from './funds.js';

/** A pipeline that has been executed. */
interface LandedPipeline extends Pick<Landing, 'position' | 'signature'> {
  /** Time of its block, or that at which it was found, where no node tells. */
  readonly landedMs: number;
  /** It counts already, as part of a gap that was accepted. */
  readonly isCounted?: boolean;
}

type Amounts = Readonly<Record<UsageKind, bigint>>;

const amountsOf = (pipelines: readonly PlannedPipeline[]): Amounts => ({
  burn: totalBurn(pipelines),
  airdrop: totalAirdrop(pipelines),
});

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

/** What of the batch may still land, as it is held now. */
async function heldAmounts(tx: StoreTransaction, batch: BatchRecord): Promise<Amounts> {
  const holds = await tx.usage.holdsOf(batch.id);
  const of = (kind: UsageKind): bigint => holds.find((hold) => hold.kind === kind)?.amount ?? 0n;
  return { burn: of('burn'), airdrop: of('airdrop') };
}

/** A waiting batch counts on the day of its init. */
export const holdWhileWaiting = (tx: StoreTransaction, batch: BatchRecord): Promise<void> =>
  setHolds(tx, batch, amountsOf(batch.pipelines), { fromDay: batch.day, toDay: batch.day });

/** @throws `ERR_DAILY_LIMIT_EXCEEDED` when what is left of the batch would pass a cap of today. */
export async function refuseOverCaps(
  tx: StoreTransaction,
  { token, flywheel }: BatchContext,
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

/** Nothing more of the batch can land. */
export const releaseHolds = (tx: StoreTransaction, batch: BatchRecord): Promise<void> =>
  setHolds(tx, batch, { burn: 0n, airdrop: 0n }, { fromDay: batch.day, toDay: batch.day });
