/** What counts against the daily caps: what has landed on a day, and all that may still land on it. */
import { type Selectable, sql } from 'kysely';
import type { UtcDay } from '../../values/time.js';
import { toU64Text } from '../column-values.js';
import { executeOnce, expectAffected, type Session } from '../session.js';
import type { UsageCounter, UsageHold, UsageRepository } from '../store.js';
import type { UsageHoldTable } from '../tables.js';

// A literal, because a partial index serves only a condition that is written out.
const PENDING = sql.lit('PENDING' as const);

const sum = (rows: readonly { readonly amount: string }[]): bigint =>
  rows.reduce((total, { amount }) => total + BigInt(amount), 0n);

async function landedOn(session: Session, counter: UsageCounter): Promise<bigint | undefined> {
  const { tokenId, day, kind } = counter;
  const { rows } = await executeOnce(session, 'landed on a day', [tokenId, day, kind], () =>
    session.db
      .selectFrom('daily_usage')
      .select('landed')
      .where('token_id', '=', tokenId)
      .where('day', '=', day)
      .where('kind', '=', kind)
      .compile(),
  );
  return rows[0] && BigInt(rows[0].landed);
}

/** A burn that is pending may land on the day it was asked for, and on any later one. */
async function pendingBurns({ db }: Session, { tokenId, day }: UsageCounter): Promise<bigint> {
  const rows = await db
    .selectFrom('burns')
    .select('amount')
    .where('token_id', '=', tokenId)
    .where('status', '=', PENDING)
    .where('day', '<=', day)
    .execute();
  return sum(rows);
}

async function held(
  { db }: Session,
  counter: UsageCounter,
  exceptBatch: string | undefined,
): Promise<bigint> {
  const { tokenId, kind, day } = counter;
  let query = db
    .selectFrom('usage_holds')
    .select('amount')
    .where('token_id', '=', tokenId)
    .where('kind', '=', kind)
    .where('from_day', '<=', day)
    .where((column) => column.or([column('to_day', 'is', null), column('to_day', '>=', day)]));
  if (exceptBatch !== undefined) query = query.where('batch_id', '<>', exceptBatch);
  return sum(await query.execute());
}

const toHold = (row: Selectable<UsageHoldTable>): UsageHold => ({
  batchId: row.batch_id,
  tokenId: row.token_id,
  kind: row.kind,
  amount: BigInt(row.amount),
  fromDay: row.from_day as UtcDay,
  toDay: row.to_day as UtcDay | null,
});

export const usageRepository = (session: Session): UsageRepository => ({
  async used(counter, exceptBatch) {
    const landed = (await landedOn(session, counter)) ?? 0n;
    const pending = counter.kind === 'burn' ? await pendingBurns(session, counter) : 0n;
    return landed + pending + (await held(session, counter, exceptBatch));
  },

  async latestDay(tokenId) {
    const { rows } = await executeOnce(session, 'latest day', [tokenId], () =>
      session.db
        .selectFrom('daily_usage')
        .select(({ fn }) => fn.max('day').as('day'))
        .where('token_id', '=', tokenId)
        .compile(),
    );
    return (rows[0]?.day ?? undefined) as UtcDay | undefined;
  },

  async addLanded(counter, amount) {
    const before = await landedOn(session, counter);
    const { tokenId, day, kind } = counter;
    if (before === undefined) {
      const row = { token_id: tokenId, day, kind, landed: toU64Text(amount) };
      await session.db.insertInto('daily_usage').values(row).execute();
      return;
    }
    const [after, read] = [toU64Text(before + amount), toU64Text(before)];
    const { numAffectedRows } = await executeOnce(
      session,
      'add landed',
      [after, tokenId, day, kind, read],
      () =>
        session.db
          .updateTable('daily_usage')
          .set({ landed: after })
          .where('token_id', '=', tokenId)
          .where('day', '=', day)
          .where('kind', '=', kind)
          // Whatever the isolation of the transaction: only on top of what was read.
          .where('landed', '=', read)
          .compile(),
    );
    expectAffected(numAffectedRows, 1, 'The daily usage changed while it was being counted.');
  },

  async setHold({ batchId, kind, tokenId, amount, fromDay, toDay }) {
    const { db } = session;
    await db.deleteFrom('usage_holds').where('batch_id', '=', batchId).where('kind', '=', kind).execute();
    if (amount === 0n) return;
    const row = { batch_id: batchId, kind, token_id: tokenId, amount: toU64Text(amount) };
    await db
      .insertInto('usage_holds')
      .values({ ...row, from_day: fromDay, to_day: toDay })
      .execute();
  },

  async holdsOf(batchId) {
    const rows = await session.db
      .selectFrom('usage_holds')
      .selectAll()
      .where('batch_id', '=', batchId)
      .orderBy('kind')
      .execute();
    return rows.map(toHold);
  },
});
