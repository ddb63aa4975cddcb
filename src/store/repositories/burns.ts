/** Burns: the intent of each, then its outcome; written in few statements however many there are. */
import { type NotNull, type RawBuilder, sql } from 'kysely';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import { piecesOf } from '../../values/pieces.js';
import type { UtcDay } from '../../values/time.js';
import type { BurnIntent, BurnOutcome, BurnRecord, BurnStatus, RequestRecord } from '../records.js';
import { OPEN_BURN } from '../schema.js';
import { CONFIRMED, given, insertAll, OPEN, PENDING, type StoreSession, tableOf } from '../session.js';
import { isOfProof, isOneOf, type Listed, listed, type Page } from './pages.js';
import { requestsOf } from './requests.js';
import { daysOf, SUM, usedOn } from './usage.js';

export interface BurnFilter extends Page {
  readonly types?: readonly string[] | undefined;
  /** Any of these. */
  readonly statuses?: readonly BurnStatus[] | undefined;
  readonly proofHashes?: readonly string[] | undefined;
  /** Of the request with this key. */
  readonly idempotencyKey?: string | undefined;
  readonly txHash?: string | undefined;
}

/** Which burns to add up: those with sequence numbers from `from` up to `to`, which is not among them. */
export interface BurnSumsQuery extends Pick<BurnFilter, 'tokenId' | 'types'> {
  readonly from: number;
  readonly to: number;
  /** ISO times at which they came to their end, inclusive and exclusive. */
  readonly since?: string;
  readonly until?: string;
}

/** Burns of one type that came to the same end on one day. */
export interface BurnSum {
  readonly day: UtcDay;
  readonly type: string;
  /** Else they failed. */
  readonly isLanded: boolean;
  readonly count: number;
  /** Base units; those of many burns may be more than a u64. */
  readonly amount: bigint;
  readonly feeLamports: bigint;
}

/** What burns that are asked for now are accepted on. */
export interface Room {
  /** The day of now, but none before the latest on which something counts: a clock that goes back opens no day once more. */
  readonly day: UtcDay;
  /** Base units that count on that day. */
  readonly used: bigint;
}

/** The same, with numbers for them. */
export interface Reserved extends Room {
  /** Rising numbers that nobody else is given. What is not used of them stays unused. */
  readonly sequences: readonly number[];
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

/** Room and numbers in one query beside that which tells the time, of a database that gives numbers to many at once. */
export const reserveQuery = (tokenId: string, count: number) => sql<
  RoomRow & { readonly numbers: readonly string[] }
>`select room.*, array(select nextval('burn_numbers') from generate_series(1, ${count})) as numbers
  from (${roomQuery(tokenId, sql`to_char(to_timestamp(begun.now_ms / 1000) at time zone 'utc', 'YYYY-MM-DD')`)}) as room`;

/** What {@link reserveQuery} has found. */
export const reservedOf = (row: Partial<RoomRow & { readonly numbers: readonly string[] }>): Reserved => ({
  ...roomOf(row as RoomRow),
  sequences: (row.numbers ?? []).map(Number),
});

/** A burn that has not come to its end. */
type OpenBurn = BurnRecord & { readonly transaction: Uint8Array };

/** What an outcome says of its burn. */
const OUTCOME = ['status', 'errorCode', 'errorMessage', 'dateSettled', 'feeLamports'] as const;

/** One statement for many outcomes: each burn is found by its number, and changes only while it is pending. */
const settleStatement = (outcomes: readonly BurnOutcome[]) => {
  const rows = outcomes.map(
    (outcome) =>
      sql`(cast(${outcome.sequence} as bigint), ${sql.join(OUTCOME.map((column) => outcome[column]))})`,
  );
  const changes = OUTCOME.map((column) => sql`${sql.ref(column)} = settled.${sql.ref(column)}`);
  return sql`with settled (sequence, ${sql.join(OUTCOME.map((column) => sql.ref(column)))}) as (values ${sql.join(rows)})
    update burns set ${sql.join(changes)},
      "transaction" = case when settled.${sql.raw(OPEN_BURN)} then burns."transaction" end
    from settled where burns.sequence = settled.sequence and burns.status = ${PENDING}`;
};

export const burnRepository = (session: StoreSession) => {
  const { db } = session;
  const burns = db.selectFrom('burns');
  const { find, changes } = tableOf(session, 'burns');

  return {
    find,

    async room(tokenId: string, today: UtcDay): Promise<Room> {
      return roomOf((await roomQuery(tokenId, sql`${today}`).execute(db)).rows[0]);
    },

    /** Numbers of a file, which one process writes at a time; a database gives them by {@link reserveQuery}. */
    async nextInFile(count: number): Promise<readonly number[]> {
      const next = sql<{ last: number }>`update burn_numbers set last = last + ${count} returning last`;
      const last = (await next.execute(db)).rows[0]?.last ?? Number.NaN;
      return Array.from({ length: count }, (_, at) => last - count + 1 + at);
    },

    /** Burns of a request, whose project is theirs. */
    insertMany: (
      { id: requestId, tokenId }: Pick<RequestRecord, 'id' | 'tokenId'>,
      intents: readonly Omit<BurnIntent, 'requestId' | 'tokenId'>[],
    ): Promise<void> =>
      insertAll(
        session,
        'burns',
        intents.map((intent) => ({ ...intent, requestId, tokenId, status: 'PENDING' })),
      ),

    /**
     * New signature for a pending burn whose signature `expired` is proven never to land.
     * @throws `ERR_DUPLICATE_IDEMPOTENCY_KEY` when the burn has another signature by now: somebody else carries it on.
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
      const expected = { sequence, status: 'PENDING', signature: expired } as const;
      const anew = { signature, transaction, lastValidBlockHeight };
      if (await changes(expected, anew)) return;
      const sentence = `Another process is working on burn ${sequence}.`;
      throw new FlywheelError('ERR_DUPLICATE_IDEMPOTENCY_KEY', sentence, { retryAfterSeconds: 1 });
    },

    /** Only pending burns change; those that have come to their end lose their bytes. @throws `ERR_INTERNAL` where one is not pending */
    async settleMany(outcomes: readonly BurnOutcome[]): Promise<void> {
      let affected = 0n;
      for (const piece of piecesOf(outcomes))
        affected += (await settleStatement(piece).execute(db)).numAffectedRows ?? 0n;
      invariant(
        affected === BigInt(outcomes.length),
        'Not every burn to settle is pending; nothing was settled.',
      );
    },

    /** Burns that have landed where a fork may still take them back, of one project or of all. */
    confirmed(tokenId: string | null): Promise<readonly OpenBurn[]> {
      const open = burns.selectAll().where(OPEN).$narrowType<{ transaction: NotNull }>();
      const confirmed = open.where('status', '=', CONFIRMED);
      return (tokenId === null ? confirmed : confirmed.where('tokenId', '=', tokenId)).execute();
    },

    /** No fork can take the transactions with these signatures back any more. @returns those burns that were still confirmed */
    async finalize(
      signatures: readonly string[],
    ): Promise<readonly Pick<BurnRecord, 'day' | 'amount' | 'dateSettled'>[]> {
      const final: Pick<BurnRecord, 'day' | 'amount' | 'dateSettled'>[] = [];
      for (const piece of piecesOf(signatures)) {
        const confirmed = db
          .updateTable('burns')
          .where('signature', 'in', piece)
          .where('status', '=', CONFIRMED);
        const set = confirmed.set({ status: 'FINAL', transaction: null });
        final.push(...(await set.returning(['day', 'amount', 'dateSettled']).execute()));
      }
      return final;
    },

    /** A confirmed burn is pending again, if it is still that transaction. @returns whether it was */
    reopen: ({ sequence, signature }: Pick<BurnRecord, 'sequence' | 'signature'>): Promise<boolean> =>
      changes(
        { sequence, signature, status: 'CONFIRMED' },
        { status: 'PENDING', dateSettled: null, feeLamports: null },
      ),

    /** In the order of their index, `from` to `to` (exclusive). */
    ofRequest: (requestId: string, from = 0, to = Number.MAX_SAFE_INTEGER): Promise<readonly BurnRecord[]> =>
      burns
        .selectAll()
        .where('requestId', '=', requestId)
        .where('index', '>=', from)
        .where('index', '<', to)
        .orderBy('index')
        .execute(),

    /** Exact sums; so that one call never takes long, of few thousand burns at a time. */
    async sums({ tokenId, from, to, since, until, types }: BurnSumsQuery): Promise<readonly BurnSum[]> {
      const rows = await burns
        .select([
          sql<UtcDay>`substr(date_settled, 1, 10)`.as('settledOn'),
          'proofType',
          'status',
          sql<number>`count(*)`.as('count'),
          sql<number>`${sql.raw(SUM.high)}`.as('high'),
          sql<number>`${sql.raw(SUM.low)}`.as('low'),
          sql<number>`coalesce(sum(cast(fee_lamports as bigint)), 0)`.as('fees'),
        ])
        .where('sequence', '>=', from)
        .where('sequence', '<', to)
        .where('tokenId', '=', tokenId)
        .where('dateSettled', 'is not', null)
        .where((eb) =>
          eb.and([
            ...given(since, (date) => eb('dateSettled', '>=', date)),
            ...given(until, (date) => eb('dateSettled', '<', date)),
            ...given(types, (some) => isOneOf('proof_type', some)),
          ]),
        )
        .groupBy([sql`1`, 'proofType', 'status'])
        .execute();
      return rows.map(({ settledOn, proofType, status, count, high, low, fees }) => ({
        ...{ day: settledOn, type: proofType, isLanded: status !== 'FAILED', count: Number(count) },
        ...{ amount: SUM.whole({ high, low }), feeLamports: BigInt(fees) },
      }));
    },

    /** The highest number of a burn, 0 when there is none. */
    async lastSequence(): Promise<number> {
      const row = await burns.select(({ fn }) => fn.max('sequence').as('last')).executeTakeFirst();
      return row?.last ?? 0;
    },

    async countPending(tokenId: string): Promise<number> {
      const row = await burns
        .select(({ fn }) => fn.countAll().as('count'))
        .where('tokenId', '=', tokenId)
        .where(OPEN)
        .where('status', '=', PENDING)
        .executeTakeFirst();
      return Number(row?.count ?? 0);
    },

    /** Newest first. */
    list(filter: BurnFilter): Promise<Listed<Omit<BurnRecord, 'transaction'>>> {
      const { tokenId, types, statuses, proofHashes, idempotencyKey, txHash, since, until } = filter;
      // These are found by an index, however many there are; and where all are wanted, no more are looked at than are listed.
      const isFound = [proofHashes, idempotencyKey, txHash].some((one) => one !== undefined);
      const areAllWanted = [types, statuses, since, until].every((one) => one === undefined);
      const conditions = [
        ...given(types, (some) => isOneOf('proof_type', some)),
        ...given(statuses, (some) => isOneOf('status', some)),
        ...given(txHash, (one) => sql`signature = ${one}`),
        ...given(proofHashes, isOfProof),
        ...given(idempotencyKey, (key) => sql`request_id in (${requestsOf(session, tokenId, key)})`),
      ];
      return listed(session, 'burns', filter, conditions, !isFound && !areAllWanted);
    },
  };
};
