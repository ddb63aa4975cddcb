/** What becomes of a gap: somebody has seen what is missing, and the project goes on without it. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { FlywheelRecord, GapRecord, LostTransaction, TokenRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime, type UtcDay, utcDay } from '../../values/time.js';
import { requireRegistration } from '../admin/find-registration.js';
import type { EngineDeps } from '../deps.js';

/** An open gap with all that is missing. */
interface OpenGap extends GapRecord {
  readonly lost: readonly LostTransaction[];
  /** Burns that the store has as pending: once the gap is accepted they are carried on. */
  readonly pendingBurns: number;
}

/** The open gap as the store has it. */
export async function openGapIn(tx: StoreTransaction, tokenId: string): Promise<OpenGap | undefined> {
  const gap = await tx.gaps.open(tokenId);
  if (gap === undefined) return undefined;
  const lost = await tx.gaps.transactions(gap.id);
  return { ...gap, lost, pendingBurns: await tx.burns.countPending(tokenId) };
}

/** What is missing of the project that is administered, and accepting it. */
export interface GapAdmin {
  /** @returns `null` when nothing is. @throws `ERR_UNAVAILABLE` when the chain cannot be asked; as {@link requireRegistration} */
  find(): Promise<ProjectGap | null>;
  /** @param transactions - that were shown. @throws as {@link acceptGapIn} */
  accept(transactions: number): Promise<GapRecord>;
}

/** The gap of a project. */
export interface ProjectGap {
  readonly token: TokenRecord;
  readonly flywheel: FlywheelRecord;
  readonly gap: OpenGap;
}

export function createGapAdmin(deps: EngineDeps): GapAdmin {
  const registered = () => deps.store.read((tx) => requireRegistration(tx, deps.project ?? null));
  return {
    find: async () => {
      const project = await registered();
      const { id } = project.token;
      await deps.gaps.lookNow(id);
      const gap = await deps.store.read((tx) => openGapIn(tx, id));
      return gap === undefined ? null : { ...project, gap };
    },
    accept: async (transactions) => {
      const { id: tokenId } = (await registered()).token;
      const acceptance = { tokenId, transactions, actor: deps.actor };
      return deps.store.transaction((tx) => acceptGapIn(tx, acceptance), { tokenId });
    },
  };
}

/** Who accepts, and what he has seen. */
interface Acceptance {
  readonly tokenId: string;
  /** Transactions that were shown. */
  readonly transactions: number;
  readonly actor: string;
}

/**
 * Accepts the open gap: what was burned and airdropped counts on its days from now on, so that caps hold, and writes go on.
 * @throws `ERR_INPUT_INVALID` when it is not what was shown.
 */
export async function acceptGapIn(
  tx: StoreTransaction,
  { tokenId, transactions, actor }: Acceptance,
): Promise<GapRecord> {
  const gap = await tx.gaps.open(tokenId);
  if (gap === undefined || gap.transactions !== transactions)
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `Expected ${transactions} missing transactions, found ${gap?.transactions ?? 0}. Nothing was accepted.`,
      { hint: 'Run `flywheel db accept-gap` again and review its list.' },
    );
  const dateAccepted = isoTime(tx.nowMs);
  await countUse(tx, gap);
  await tx.gaps.accept(gap.id, dateAccepted);
  await tx.audit.append({
    ...{ tokenId, actor, action: 'gap.accept', subject: gap.id, dateCreated: dateAccepted },
    detail: {
      burns: gap.burns,
      transactions: gap.transactions,
      burned: gap.burned.toString(),
      airdropped: gap.airdropped.toString(),
      firstSignature: gap.firstSignature,
      lastSignature: gap.lastSignature,
    },
  });
  return { ...gap, status: 'ACCEPTED', dateAccepted };
}

/** On the day on which each has landed; today, where no node says. */
async function countUse(tx: StoreTransaction, { id, tokenId }: GapRecord): Promise<void> {
  const sums = new Map<UtcDay, { burn: bigint; airdrop: bigint }>();
  for (const { burned, airdropped, dateLanded } of await tx.gaps.transactions(id)) {
    const day = utcDay(dateLanded === null ? tx.nowMs : Date.parse(dateLanded));
    const sum = sums.get(day) ?? { burn: 0n, airdrop: 0n };
    sums.set(day, { burn: sum.burn + burned, airdrop: sum.airdrop + airdropped });
  }
  for (const [day, sum] of sums)
    for (const kind of ['burn', 'airdrop'] as const)
      if (sum[kind] > 0n) await tx.usage.addLanded({ tokenId, day, kind }, sum[kind]);
}
