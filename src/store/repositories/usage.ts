/** What is used of the caps of a UTC day; the counter never passes the cap under which it grows. */
import { invariant } from '../../errors/flywheel-error.js';
import { MAX_BASE_UNITS } from '../../values/token-amount.js';
import { toU64Text, toU64TextOrNull } from '../column-values.js';
import { expectAffected, type Session } from '../session.js';
import type { UsageChange, UsageRepository } from '../store.js';

type Counter = Pick<UsageChange, 'tokenId' | 'day' | 'kind'>;

async function readCounter({ db }: Session, counter: Counter): Promise<bigint | undefined> {
  const row = await db
    .selectFrom('daily_usage')
    .select('used')
    .where('token_id', '=', counter.tokenId)
    .where('day', '=', counter.day)
    .where('kind', '=', counter.kind)
    .executeTakeFirst();
  return row && BigInt(row.used);
}

/** Sets the counter only if it still is what was read, whatever the isolation of the transaction. */
async function moveCounter(
  { db }: Session,
  counter: Counter,
  from: bigint,
  to: { readonly used: string; readonly cap?: string | null },
): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('daily_usage')
    .set(to)
    .where('token_id', '=', counter.tokenId)
    .where('day', '=', counter.day)
    .where('kind', '=', counter.kind)
    .where('used', '=', toU64Text(from))
    .executeTakeFirst();
  expectAffected(numUpdatedRows, 1, 'The daily usage changed while it was being counted.');
}

export const usageRepository = (session: Session): UsageRepository => ({
  async used(tokenId, day, kind) {
    return (await readCounter(session, { tokenId, day, kind })) ?? 0n;
  },

  async reserve({ tokenId, day, kind, amount, cap }) {
    const before = await readCounter(session, { tokenId, day, kind });
    const used = (before ?? 0n) + amount;
    if (used > (cap ?? MAX_BASE_UNITS)) return false;
    const to = { used: toU64Text(used), cap: toU64TextOrNull(cap) };
    if (before !== undefined) await moveCounter(session, { tokenId, day, kind }, before, to);
    else
      await session.db
        .insertInto('daily_usage')
        .values({ token_id: tokenId, day, kind, ...to })
        .execute();
    return true;
  },

  async release({ amount, ...counter }) {
    if (amount === 0n) return;
    const before = (await readCounter(session, counter)) ?? 0n;
    invariant(amount <= before, `More is released than was reserved on ${counter.day}.`);
    await moveCounter(session, counter, before, { used: toU64Text(before - amount) });
  },
});
