/** Daily caps: the day that counts, the decision, its sentence (contract, section 1.4). */
import type { TransactionRecord } from '../chain/chain.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { FlywheelRecord, TokenRecord } from '../store/records.js';
import type { UsageKind } from '../store/repositories/usage.js';
import type { StoreTransaction } from '../store/store.js';
import { type UtcDay, utcDay } from '../values/time.js';
import { tokenText } from './amount-text.js';
import type { EngineDeps } from './deps.js';

/** Where the cap of each kind stands. */
const CAPS: { readonly [Kind in UsageKind]: (flywheel: FlywheelRecord) => bigint | null } = {
  burn: ({ dailyBurnCap }) => dailyBurnCap,
  airdrop: ({ dailyAirdropCap }) => dailyAirdropCap,
};

/** The kinds that have a cap. */
export const USAGE_KINDS = Object.keys(CAPS) as readonly UsageKind[];

/** Base units that may be burned or airdropped on one UTC day; `null` for no cap. */
export const dailyCap = (flywheel: FlywheelRecord | undefined, kind: UsageKind): bigint | null =>
  flywheel === undefined ? null : CAPS[kind](flywheel);

/** The day of now, but none before the latest on which something landed: a clock that goes back opens no day once more. */
export async function dayOfNow(tx: StoreTransaction, tokenId: string): Promise<UtcDay> {
  const latest = await tx.usage.latestDay(tokenId);
  const day = utcDay(tx.nowMs);
  return latest !== undefined && latest > day ? latest : day;
}

/** What counts on the day of now, in base units. */
export async function usedToday(
  tx: StoreTransaction,
  tokenId: string,
): Promise<{ readonly day: UtcDay } & Readonly<Record<UsageKind, bigint>>> {
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
  at: {
    readonly kind: UsageKind;
    readonly cap: bigint;
    readonly used: bigint;
    readonly asked: bigint;
    readonly day: UtcDay;
  },
): string {
  const text = (amount: bigint): string => tokenText(amount, token);
  return `The request exceeds the daily ${at.kind} cap of ${text(at.cap)}: ${text(at.used)} are used or reserved on ${at.day} (UTC), and ${text(at.asked)} more are requested.`;
}

/** What is asked of the caps of one day. */
interface CapRequest {
  readonly token: TokenRecord;
  readonly flywheel: FlywheelRecord | undefined;
  readonly day: UtcDay;
  /** Base units. */
  readonly asked: Readonly<Record<UsageKind, bigint>>;
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
