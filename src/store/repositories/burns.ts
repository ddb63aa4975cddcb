/** Burns: each one's intent, then its outcome; many burns take few statements. */
import { type RawBuilder, sql } from 'kysely';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { UtcDay } from '../../values/time.js';
import { piecesOf } from '../columns.js';
import type { BurnIntent, BurnOutcome, BurnRecord, BurnStatus, RequestRecord } from '../records.js';
import { OPEN_BURN } from '../schema.js';
import { given, insertAll, matching, OPEN, type StoreSession, tableOf, within } from '../session.js';
import { isOfKey, isOfProof, isOneOf, type Listed, listed, type Page } from './pages.js';
import { daysOf, SUM, usedOn } from './usage.js';

type BurnFilter = Page & {
  readonly types?: readonly string[] | undefined;
  readonly statuses?: readonly BurnStatus[] | undefined;
  readonly proofHashes?: readonly string[] | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly txHash?: string | undefined;
};

/** The burns to sum: sequence numbers from `from` (inclusive) to `to` (exclusive). */
export interface BurnSumsQuery extends Pick<BurnFilter, 'tokenId' | 'types'> {
  readonly from: number;
  readonly to: number;
  /** ISO times of the outcome, inclusive and exclusive. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Burns of one type that had the same outcome on one day. */
type BurnSum = {
  readonly day: UtcDay;
  readonly type: string;
  readonly isLanded: boolean;
  readonly count: number;
  /** Base units; the sum may exceed a u64. */
  readonly amount: bigint;
  readonly feeLamports: bigint;
};

/** The day on which new burns would count, and what is used of it. */
export interface Room {
  /** Today, or the latest day on which something counts, if that is later: a clock that goes back does not reopen a day. */
  readonly day: UtcDay;
  readonly used: bigint;
}

export interface Reserved extends Room {
  /** Rising and unique; unused numbers are never given out again. */
  readonly sequences: readonly number[];
}

interface Sums {
  readonly settledOn: UtcDay;
  readonly count: number;
  readonly high: number;
  readonly low: number;
  readonly fees: number;
}

interface RoomRow {
  readonly day: UtcDay;
  readonly high: number;
  readonly low: number;
}

const roomQuery = (tokenId: string, today: RawBuilder<unknown>) => sql<RoomRow>`
  with at (day) as (
    select max(day) from (select cast(${today} as text) as day union all ${daysOf(tokenId)}) as days)
  select at.day, high, low
  from at, (${usedOn({ tokenId, kind: 'burn', day: sql`(select day from at)` })}) as used`;

const roomOf = (row: RoomRow | undefined): Room => {
  invariant(row !== undefined, 'There is a day, and what is used of it.');
  return { day: row.day, used: SUM.whole(row) };
};

/** PostgreSQL only: room and numbers in the query that also reads the server's time (`begun`). */
export const reserveQuery = (tokenId: string, count: number) => sql<
  RoomRow & { readonly numbers: readonly string[] }
>`select room.*, array(select nextval('burn_numbers') from generate_series(1, ${count})) as numbers
  from (${roomQuery(tokenId, sql`to_char(to_timestamp(begun.now_ms / 1000) at time zone 'utc', 'YYYY-MM-DD')`)}) as room`;

export const reservedOf = (row: Partial<RoomRow & { readonly numbers: readonly string[] }>): Reserved => ({
  ...roomOf(row as RoomRow),
  sequences: (row.numbers ?? []).map(Number),
});

const OUTCOME = ['status', 'errorCode', 'errorMessage', 'dateSettled', 'feeLamports'] as const;

/** One statement for many outcomes. A burn is found by its sequence number and changes only while it is PENDING. */
const settleStatement = (outcomes: readonly BurnOutcome[]) => {
  const rows = outcomes.map(
    (outcome) =>
      sql`(cast(${outcome.sequence} as bigint), ${sql.join(OUTCOME.map((column) => outcome[column]))})`,
  );
  const changes = OUTCOME.map((column) => sql`${sql.ref(column)} = settled.${sql.ref(column)}`);
  return sql`with settled (sequence, ${sql.join(OUTCOME.map((column) => sql.ref(column)))}) as (values ${sql.join(rows)})
    update burns set ${sql.join(changes)},
      "transaction" = case when settled.${sql.raw(OPEN_BURN)} then burns."transaction" end
    from settled where burns.sequence = settled.sequence and burns.status = 'PENDING'`;
};

export const burnRepository = (session: StoreSession) => {
  const { db } = session;
  const { find, list, changes } = tableOf(session, 'burns');
  return {
    find,

    async room(tokenId: string, today: UtcDay): Promise<Room> {
      return roomOf((await roomQuery(tokenId, sql`${today}`).execute(db)).rows[0]);
    },

    /** SQLite only: one process writes at a time. PostgreSQL uses {@link reserveQuery}. */
    async nextInFile(count: number): Promise<readonly number[]> {
      const next = sql<{ last: number }>`update burn_numbers set last = last + ${count} returning last`;
      const last = (await next.execute(db)).rows[0]?.last ?? Number.NaN;
      return Array.from({ length: count }, (_, at) => last - count + 1 + at);
    },

    insertMany: (
      { id: requestId, tokenId }: Pick<RequestRecord, 'id' | 'tokenId'>,
      intents: readonly Omit<BurnIntent, 'requestId' | 'tokenId'>[],
    ) =>
      insertAll(
        session,
        'burns',
        intents.map((intent) => ({ ...intent, requestId, tokenId, status: 'PENDING' })),
      ),

    /**
     * Replaces the signature of a pending burn. The `expired` signature must be proven never to land.
     * @throws `ERR_DUPLICATE_IDEMPOTENCY_KEY` if the burn has another signature by now: another process works on it
     */
    async resign(
      sequence: number,
      expired: string,
      {
        signature,
        transaction,
        lastValidBlockHeight,
      }: Pick<BurnIntent, 'signature' | 'transaction' | 'lastValidBlockHeight'>,
    ): Promise<void> {
      const anew = { signature, transaction, lastValidBlockHeight };
      if (await changes({ sequence, status: 'PENDING', signature: expired }, anew)) return;
      const sentence = `Another process is working on burn ${sequence}.`;
      throw new FlywheelError('ERR_DUPLICATE_IDEMPOTENCY_KEY', sentence, { retryAfterSeconds: 1 });
    },

    /** Changes only pending burns; a burn with a final outcome loses its bytes. @throws `ERR_INTERNAL` if any is not pending */
    async settleMany(outcomes: readonly BurnOutcome[]): Promise<void> {
      let affected = 0n;
      for (const piece of piecesOf(outcomes))
        affected += (await settleStatement(piece).execute(db)).numAffectedRows ?? 0n;
      invariant(
        affected === BigInt(outcomes.length),
        'Not every burn to settle is pending; nothing was settled.',
      );
    },

    /** Pending burns, and confirmed ones that a fork may still roll back. @param tokenId - @default all projects */
    open: (tokenId?: string) =>
      list({ tokenId }, sql`and ${OPEN}`) as Promise<readonly (BurnRecord & { transaction: Uint8Array })[]>,

    /** Marks transactions as finalized: no fork can roll them back. @returns the burns that were still confirmed */
    async finalize(
      signatures: readonly string[],
    ): Promise<readonly Pick<BurnRecord, 'day' | 'amount' | 'dateSettled'>[]> {
      const final: Pick<BurnRecord, 'day' | 'amount' | 'dateSettled'>[] = [];
      for (const signature of piecesOf(signatures)) {
        const confirmed = db
          .updateTable('burns')
          .where(matching<'burns'>({ signature, status: 'CONFIRMED' }));
        const set = confirmed.set({ status: 'FINAL', transaction: null });
        final.push(...(await set.returning(['day', 'amount', 'dateSettled']).execute()));
      }
      return final;
    },

    /** Makes a confirmed burn pending again, if it still has that signature. @returns whether it did */
    reopen: ({ sequence, signature }: Pick<BurnRecord, 'sequence' | 'signature'>): Promise<boolean> =>
      changes(
        { sequence, signature, status: 'CONFIRMED' },
        { status: 'PENDING', dateSettled: null, feeLamports: null },
      ),

    /** Ordered by index, `from` inclusive to `to` exclusive. */
    ofRequest: (requestId: string, from = 0, to = Number.MAX_SAFE_INTEGER): Promise<readonly BurnRecord[]> =>
      list({ requestId }, sql`and "index" >= ${from} and "index" < ${to} order by "index"`),

    /** Exact sums. Callers pass ranges of a few thousand burns, so that no call takes long. */
    async sums({ tokenId, from, to, types, ...bounds }: BurnSumsQuery): Promise<readonly BurnSum[]> {
      const conditions = [
        matching<'burns'>({ tokenId, proofType: types }),
        ...within('date_settled', bounds),
        sql`date_settled is not null`,
      ];
      const { rows } = await sql<Pick<BurnRecord, 'proofType' | 'status'> & Sums>`
        select substr(date_settled, 1, 10) as settled_on, proof_type, status, count(*) as count,
          ${sql.raw(SUM.high)} as high, ${sql.raw(SUM.low)} as low, coalesce(sum(cast(fee_lamports as bigint)), 0) as fees
        from burns where sequence >= ${from} and sequence < ${to} and ${sql.join(conditions, sql` and `)}
        group by 1, proof_type, status`.execute(db);
      return rows.map(({ settledOn, proofType, status, count, high, low, fees }) => ({
        ...{ day: settledOn, type: proofType, isLanded: status !== 'FAILED', count: Number(count) },
        ...{ amount: SUM.whole({ high, low }), feeLamports: BigInt(fees) },
      }));
    },

    /** Newest first. */
    list(filter: BurnFilter): Promise<Listed<Omit<BurnRecord, 'transaction'>>> {
      const { tokenId, types, statuses, proofHashes, idempotencyKey, txHash, since, until } = filter;
      // These filters have an index. Without any filter, only the listed rows are read. In both cases the number of rows need not be bounded.
      const isFound = [proofHashes, idempotencyKey, txHash].some((one) => one !== undefined);
      const areAllWanted = [types, statuses, since, until].every((one) => one === undefined);
      const conditions = [
        matching<'burns'>({ proofType: types, signature: txHash }),
        // No literals: with them SQLite sorts by an index of some states.
        ...given(statuses, (some) => isOneOf('status', some)),
        ...given(proofHashes, isOfProof),
        ...given(idempotencyKey, (key) => isOfKey(tokenId, key)),
      ];
      return listed(session, 'burns', filter, conditions, !isFound && !areAllWanted);
    },
  };
};
