/** What counts against the daily caps: what has landed on a day for good, and all that may still land on it. */
import { type RawBuilder, sql } from 'kysely';
import type { UtcDay } from '../../values/time.js';
import type { Row } from '../schema.js';
import { insertAll, OPEN, type StoreSession, tableOf } from '../session.js';

// Exact sums of amounts, which 64 bits cannot hold: each half of the 20 digits by itself, which is exact for 10^8 amounts.
const HALF_DIGITS = 10;
/** What the higher half is worth. */
export const HALF = 10n ** BigInt(HALF_DIGITS);

/** Sums of the halves of a column `amount`, in SQL. */
export const SUM = {
  high: `sum(cast(substr(amount, 1, ${HALF_DIGITS}) as bigint))`,
  low: `sum(cast(substr(amount, ${HALF_DIGITS + 1}) as bigint))`,
  whole: ({ high, low }: { readonly high: number; readonly low: number }): bigint =>
    BigInt(high) * HALF + BigInt(low),
};

/** What of a batch may still land, and on which days it counts. */
export type UsageHold = Row<'usageHolds'>;

/** What is counted: each is what an action takes. */
export type UsageKind = UsageHold['kind'];

type UsageCounter = Omit<Row<'dailyUsage'>, 'landed'>;

/**
 * What counts on a day, in halves: what has landed for good, burns that may land on it or have landed where a fork may still move
 * them, and the holds that cover it.
 */
export const usedOn = (
  { tokenId, kind, day }: Pick<UsageCounter, 'tokenId' | 'kind'> & { readonly day: RawBuilder<UtcDay> },
  exceptBatch = '',
) => {
  // A pending burn may land on the day it was accepted for and on any later one; a confirmed one counts up to the day of its block.
  const open = sql`union all select amount from burns where token_id = ${tokenId} and ${OPEN} and day <= ${day}
      and (date_settled is null or day = ${day} or substr(date_settled, 1, 10) >= ${day})`;
  return sql<{ readonly high: number; readonly low: number }>`select
      cast(coalesce(${sql.raw(SUM.high)}, 0) as bigint) as high, cast(coalesce(${sql.raw(SUM.low)}, 0) as bigint) as low
    from (select landed as amount from daily_usage where token_id = ${tokenId} and day = ${day} and kind = ${kind}
      ${kind === 'burn' ? open : sql``}
      union all select amount from usage_holds
        where token_id = ${tokenId} and kind = ${kind} and from_day <= ${day}
          and (to_day is null or to_day >= ${day}) and batch_id <> ${exceptBatch}) as amounts`;
};

/** Days on which something of a project counts, the latest of them among those. */
export const daysOf = (tokenId: string) => sql<{ day: UtcDay | null }>`
  select max(day) as day from daily_usage where token_id = ${tokenId}
  union all select max(case when date_settled > day then substr(date_settled, 1, 10) else day end)
    from burns where token_id = ${tokenId} and ${OPEN}`;

export type DayUse = UsageCounter & { readonly amount: bigint };

export const usageRepository = (session: StoreSession) => {
  const { db } = session;
  const usage = tableOf(session, 'dailyUsage');
  return {
    /**
     * Base units that count on a day.
     * @param exceptBatch - whose holds are left out.
     */
    async used({ tokenId, day, kind }: UsageCounter, exceptBatch = ''): Promise<bigint> {
      const { rows } = await usedOn({ tokenId, kind, day: sql`${day}` }, exceptBatch).execute(db);
      return SUM.whole(rows[0] ?? { high: 0, low: 0 });
    },

    /** The latest day on which anything counts; no day before it is begun once more. */
    async latestDay(tokenId: string): Promise<UtcDay | undefined> {
      const latest = sql<{ day: UtcDay | null }>`select max(day) as day from (${daysOf(tokenId)}) as days`;
      return (await latest.execute(db)).rows[0]?.day ?? undefined;
    },

    /** What has landed for good. Nobody else writes the project meanwhile. */
    async addLanded(counter: UsageCounter, amount: bigint): Promise<void> {
      const before = await usage.find(counter);
      if (before === undefined) await usage.insert({ ...counter, landed: amount });
      else await usage.change(counter, { landed: before.landed + amount });
    },

    /** Sets the hold of this batch and kind, whatever it was. */
    async setHold(hold: UsageHold): Promise<void> {
      const { batchId, kind } = hold;
      await db
        .deleteFrom('usageHolds')
        .where(({ and }) => and({ batchId, kind }))
        .execute();
      if (hold.amount > 0n) await insertAll(session, 'usageHolds', [hold]);
    },

    holdsOf: (batchId: string): Promise<readonly UsageHold[]> =>
      db.selectFrom('usageHolds').selectAll().where('batchId', '=', batchId).orderBy('kind').execute(),
  };
};
