/** Daily caps (contract, section 1.4): days, checks, messages, and reservations of batches. */
import type { TransactionRecord } from '../chain/chain.js';
import { FlywheelError, invariant } from '../errors/flywheel-error.js';
import type { BatchHead, BatchRecord, PlannedPipeline, ProjectRecord } from '../store/records.js';
import type { Landing } from '../store/repositories/pipelines.js';
import type { UsageKind } from '../store/repositories/usage.js';
import type { StoreTransaction } from '../store/store.js';
import { isoTime, type UtcDay, utcDay } from '../values/time.js';
import { tokenText } from '../values/token-amount.js';
import type { Sources } from './deps.js';

const CAPS = { burn: 'dailyBurnCap', airdrop: 'dailyAirdropCap' } as const satisfies Record<
  UsageKind,
  string
>;

export const USAGE_KINDS = Object.keys(CAPS) as readonly UsageKind[];

type Amounts = Readonly<Record<UsageKind, bigint>>;

export const dailyCap = (project: ProjectRecord, kind: UsageKind): bigint | null => project[CAPS[kind]];

/** Today, but never before the latest day on which something counts: a clock set back must not reopen a day. */
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
  { store, chain }: Sources,
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
  project: ProjectRecord,
  at: { readonly kind: UsageKind; readonly day: UtcDay } & Readonly<Record<'cap' | 'used' | 'asked', bigint>>,
): string {
  const text = (amount: bigint): string => tokenText(amount, project);
  return `The request exceeds the daily ${at.kind} cap of ${text(at.cap)}: ${text(at.used)} are used or reserved on ${at.day} (UTC), and ${text(at.asked)} more are requested.`;
}

interface CapRequest {
  readonly project: ProjectRecord;
  readonly day: UtcDay;
  readonly asked: Amounts;
  /** Excludes the holds of this batch, whose amounts are the request. */
  readonly exceptBatch?: string;
}

export async function exceededCaps(
  tx: StoreTransaction,
  { project, day, asked, exceptBatch }: CapRequest,
): Promise<readonly string[]> {
  const sentences: string[] = [];
  for (const kind of USAGE_KINDS) {
    const cap = dailyCap(project, kind);
    if (cap === null || asked[kind] === 0n) continue;
    const used = await tx.usage.used({ tokenId: project.id, day, kind }, exceptBatch);
    if (used + asked[kind] <= cap) continue;
    sentences.push(capExceededMessage(project, { kind, cap, used, asked: asked[kind], day }));
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

/** What landed for good counts on its day. */
export async function countUses(
  tx: StoreTransaction,
  tokenId: string,
  uses: readonly ({ readonly day: UtcDay } & Amounts)[],
): Promise<void> {
  for (const day of new Set(uses.map((use) => use.day)))
    for (const kind of USAGE_KINDS) {
      const amount = uses.reduce((sum, use) => (use.day === day ? sum + use[kind] : sum), 0n);
      if (amount > 0n) await tx.usage.addLanded({ tokenId, day, kind }, amount);
    }
}

const leftOf = ({ burnLeft, airdropLeft }: BatchHead): Amounts => ({
  burn: burnLeft ?? 0n,
  airdrop: airdropLeft ?? 0n,
});

/**
 * From now on the rest of the batch counts on every day until it has landed or can no longer run: any member can execute it. Room
 * is checked before the hold is written: a hold from now on is room that a lower cap leaves alone.
 * @throws `ERR_DAILY_LIMIT_EXCEEDED` when the rest exceeds a cap of today; the batch keeps waiting.
 */
export async function holdFromNow(
  tx: StoreTransaction,
  project: ProjectRecord,
  { id }: BatchHead,
): Promise<void> {
  const day = await dayOfNow(tx, project.id);
  const batch = await headOf(tx, id);
  if (!keepsRoom(batch, project, day))
    await requireCaps(tx, { project, day, asked: leftOf(batch), exceptBatch: id });
  await tx.batches.change(id, { heldFrom: day, heldTo: null });
}

/** A reservation made before a cap was lowered stays valid. */
const keepsRoom = (
  { dateCreated, heldFrom, heldTo }: BatchHead,
  { dateCapsLowered }: ProjectRecord,
  day: UtcDay,
): boolean =>
  dateCapsLowered !== null &&
  dateCreated <= dateCapsLowered &&
  (heldFrom === null || (heldFrom <= day && (heldTo === null || day <= heldTo)));

export async function countLanded(
  tx: StoreTransaction,
  { id, tokenId, pipelines }: BatchRecord,
  landed: readonly LandedPipeline[],
): Promise<void> {
  if (landed.length === 0) return;
  await tx.pipelines.land(
    id,
    landed.map(({ position, signature, landedMs }) => ({
      ...{ position, signature, dateLanded: isoTime(landedMs) },
    })),
  );
  const batch = await headOf(tx, id);
  const { heldFrom } = batch;
  const amountsIn = (some: readonly LandedPipeline[]): Amounts =>
    amountsOf(some.flatMap(({ position }) => pipelines[position] ?? []));
  const uses = landed
    .filter(({ isCounted }) => isCounted !== true)
    .map((one) => ({ day: dayOfUse(heldFrom ?? utcDay(0), one.landedMs), ...amountsIn([one]) }));
  await countUses(tx, tokenId, uses);
  if (heldFrom === null) return;
  const [left, all] = [leftOf(batch), amountsIn(landed)];
  const rest = (kind: UsageKind): bigint => (left[kind] > all[kind] ? left[kind] - all[kind] : 0n);
  await tx.batches.change(id, { burnLeft: rest('burn'), airdropLeft: rest('airdrop') });
}

export const releaseHolds = (tx: StoreTransaction, { id }: BatchHead): Promise<void> =>
  tx.batches.change(id, { burnLeft: null, airdropLeft: null, heldFrom: null, heldTo: null });

async function headOf(tx: StoreTransaction, id: string): Promise<BatchHead> {
  const batch = await tx.batches.find({ id });
  invariant(batch !== undefined, 'Batches are never removed.');
  return batch;
}
