/** What counts against the daily caps: what has landed on a day, and all that may still land on it. */
import { sql } from 'kysely';
import type { UtcDay } from '../../values/time.js';
import type { Row } from '../schema.js';
import { expectAffected, insertAll, type Session } from '../session.js';

/** What of a batch may still land, and on which days it counts. */
export type UsageHold = Row<'usageHolds'>;

/** What is counted: each is what an action takes. */
export type UsageKind = UsageHold['kind'];

/** What is counted, and on which day. */
export type UsageCounter = Omit<Row<'dailyUsage'>, 'landed'>;

// A literal, because a partial index serves only a condition that is written out.
const PENDING = sql.lit('PENDING' as const);

const sum = (rows: readonly { readonly amount: bigint }[]): bigint =>
  rows.reduce((total, { amount }) => total + amount, 0n);

export const usageRepository = (session: Session) => {
  const { db } = session;
  const landedOn = async ({ tokenId, day, kind }: UsageCounter): Promise<bigint | undefined> =>
    (
      await db
        .selectFrom('dailyUsage')
        .select('landed')
        .where('tokenId', '=', tokenId)
        .where('day', '=', day)
        .where('kind', '=', kind)
        .executeTakeFirst()
    )?.landed;

  /** A burn that is pending may land on the day it was asked for, and on any later one. */
  const pendingBurns = async ({ tokenId, day }: UsageCounter): Promise<bigint> =>
    sum(
      await db
        .selectFrom('burns')
        .select('amount')
        .where('tokenId', '=', tokenId)
        .where('status', '=', PENDING)
        .where('day', '<=', day)
        .execute(),
    );

  const held = async ({ tokenId, kind, day }: UsageCounter, exceptBatch = ''): Promise<bigint> =>
    sum(
      await db
        .selectFrom('usageHolds')
        .select('amount')
        .where('tokenId', '=', tokenId)
        .where('kind', '=', kind)
        .where('fromDay', '<=', day)
        .where(({ or, eb }) => or([eb('toDay', 'is', null), eb('toDay', '>=', day)]))
        .where('batchId', '<>', exceptBatch)
        .execute(),
    );

  return {
    /**
     * Base units of a day: landed, pending burns of that day and of earlier ones, and the holds that cover it.
     * @param exceptBatch - whose holds are left out.
     */
    async used(counter: UsageCounter, exceptBatch?: string): Promise<bigint> {
      const landed = (await landedOn(counter)) ?? 0n;
      const pending = counter.kind === 'burn' ? await pendingBurns(counter) : 0n;
      return landed + pending + (await held(counter, exceptBatch));
    },

    /** The latest day on which anything has landed; no day before it is begun once more. */
    async latestDay(tokenId: string): Promise<UtcDay | undefined> {
      const row = await db
        .selectFrom('dailyUsage')
        .select(({ fn }) => fn.max('day').as('day'))
        .where('tokenId', '=', tokenId)
        .executeTakeFirst();
      return row?.day ?? undefined;
    },

    /** @param amount - below zero for what a fork has taken back. */
    async addLanded(counter: UsageCounter, amount: bigint): Promise<void> {
      const before = await landedOn(counter);
      if (before === undefined) {
        await insertAll(session, 'dailyUsage', [{ ...counter, landed: amount }]);
        return;
      }
      const { tokenId, day, kind } = counter;
      const { numUpdatedRows } = await db
        .updateTable('dailyUsage')
        .set({ landed: before + amount })
        .where('tokenId', '=', tokenId)
        .where('day', '=', day)
        .where('kind', '=', kind)
        // Whatever the isolation of the transaction: only on top of what was read.
        .where('landed', '=', before)
        .executeTakeFirst();
      expectAffected(numUpdatedRows, 1, 'The daily usage changed while it was being counted.');
    },

    /** Sets the hold of this batch and kind, whatever it was. */
    async setHold(hold: UsageHold): Promise<void> {
      const { batchId, kind } = hold;
      await db.deleteFrom('usageHolds').where('batchId', '=', batchId).where('kind', '=', kind).execute();
      if (hold.amount > 0n) await insertAll(session, 'usageHolds', [hold]);
    },

    holdsOf: (batchId: string): Promise<readonly UsageHold[]> =>
      db.selectFrom('usageHolds').selectAll().where('batchId', '=', batchId).orderBy('kind').execute(),
  };
};
