/** Usage of the daily caps: amounts that landed for good, and amounts that may still land on a day. */
import { type RawBuilder, sql } from 'kysely';
import type { UtcDay } from '../../values/time.js';
import type { Row } from '../schema.js';
import { OPEN, type StoreSession, tableOf } from '../session.js';

// Sums of u64 amounts exceed 64 bits, so the two halves of the 20 digits are summed separately: exact for 10^8 amounts.
const HALF_DIGITS = 10;
export const HALF = 10n ** BigInt(HALF_DIGITS);

export const SUM = {
  high: `sum(cast(substr(amount, 1, ${HALF_DIGITS}) as bigint))`,
  low: `sum(cast(substr(amount, ${HALF_DIGITS + 1}) as bigint))`,
  whole: ({ high, low }: { readonly high: number; readonly low: number }): bigint =>
    BigInt(high) * HALF + BigInt(low),
};

export type UsageKind = Row<'dailyUsage'>['kind'];

type UsageCounter = Omit<Row<'dailyUsage'>, 'landed'>;

/** Usage of a day in halves: landed amounts, burns that may land on it or may still be rolled back, and holds that cover it. */
export const usedOn = (
  { tokenId, kind, day }: Pick<UsageCounter, 'tokenId' | 'kind'> & { readonly day: RawBuilder<UtcDay> },
  exceptBatch = '',
) => {
  // A pending burn counts on its day of acceptance and every later day; a confirmed one only up to the day of its block.
  const open = sql`union all select amount from burns where token_id = ${tokenId} and ${OPEN} and day <= ${day}
      and (date_settled is null or day = ${day} or substr(date_settled, 1, 10) >= ${day})`;
  return sql<{ readonly high: number; readonly low: number }>`select
      cast(coalesce(${sql.raw(SUM.high)}, 0) as bigint) as high, cast(coalesce(${sql.raw(SUM.low)}, 0) as bigint) as low
    from (select landed as amount from daily_usage where token_id = ${tokenId} and day = ${day} and kind = ${kind}
      ${kind === 'burn' ? open : sql``}
      union all select ${sql.raw(`${kind}_left`)} from batches
        where token_id = ${tokenId} and held_from <= ${day} and (held_to is null or held_to >= ${day})
          and id <> ${exceptBatch}) as amounts`;
};

/** Contains the latest day on which something of the project counts. */
export const daysOf = (tokenId: string) => sql<{ day: UtcDay | null }>`
  select max(day) as day from daily_usage where token_id = ${tokenId}
  union all select max(case when date_settled > day then substr(date_settled, 1, 10) else day end)
    from burns where token_id = ${tokenId} and ${OPEN}
  union all select max(held_from) from batches where token_id = ${tokenId} and held_from is not null`;

export const usageRepository = (session: StoreSession) => {
  const { db } = session;
  const usage = tableOf(session, 'dailyUsage');
  return {
    /** Base units that count on a day. @param exceptBatch - the batch whose holds are left out */
    async used({ tokenId, day, kind }: UsageCounter, exceptBatch = ''): Promise<bigint> {
      const { rows } = await usedOn({ tokenId, kind, day: sql`${day}` }, exceptBatch).execute(db);
      return SUM.whole(rows[0] ?? { high: 0, low: 0 });
    },

    /** The latest day on which something counts. An earlier day is never used again. */
    async latestDay(tokenId: string): Promise<UtcDay | undefined> {
      const latest = sql<{ day: UtcDay | null }>`select max(day) as day from (${daysOf(tokenId)}) as days`;
      return (await latest.execute(db)).rows[0]?.day ?? undefined;
    },

    /** Amounts that landed for good. The caller's project lock makes read-then-write safe. */
    async addLanded(counter: UsageCounter, amount: bigint): Promise<void> {
      const before = await usage.find(counter);
      if (before === undefined) await usage.insert({ ...counter, landed: amount });
      else await usage.change(counter, { landed: before.landed + amount });
    },
  };
};
