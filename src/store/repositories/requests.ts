/** Requests: the idempotency record of every operation, from its start to the end of its retention; and all unfinished work. */
import { sql } from 'kysely';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { UtcDay } from '../../values/time.js';
import type { RequestRecord } from '../records.js';
import { FREE, insertAll, leasesOf, matching, OPEN, type StoreSession, tableOf } from '../session.js';
import { burnRepository } from './burns.js';

/** A request is kept until none of its burns is PENDING or CONFIRMED. */
const HAS_ENDED = sql<boolean>`not exists (select 1 from burns where burns.request_id = requests.id and ${OPEN})`;

/** Number of noted days. */
const DAYS = sql<number>`(select coalesce(max(day_count), 0) from noted_days)`;

const LAST_GAP = sql<number>`(select coalesce(max(ordinal), 0) from gap_transactions)`;

export const requestRepository = (session: StoreSession) => {
  const { db } = session;
  const { change, changes, find } = tableOf(session, 'requests', 'dayCount', 'lastGap');
  return {
    find,

    /** @returns `false`, with nothing written, if (token, operation, value) is taken */
    async insert(request: RequestRecord): Promise<boolean> {
      const row = { ...request, dayCount: DAYS, lastGap: LAST_GAP };
      return (await insertAll(session, 'requests', [row], { mayBeThere: true })) === 1;
    },

    ...leasesOf(session, 'requests'),

    complete: (id: string, reply: string): Promise<void> =>
      change({ id, status: 'running' }, { status: 'done', reply, ...FREE }),

    /** Removes the answer and the lease. @returns `false` if the request was already deleted */
    reopen: (id: string): Promise<boolean> => changes({ id }, { status: 'running', reply: null, ...FREE }),

    /** A failed request frees its idempotency key. @throws `ERR_INTERNAL` if burns of it may still land */
    async remove(id: string): Promise<void> {
      await sql`delete from requests where ${matching<'requests'>({ id })} and ${HAS_ENDED}`.execute(db);
      if ((await find({ id })) !== undefined)
        throw new FlywheelError('ERR_INTERNAL', `Burns of request ${id} may still land.`);
    },

    /** Notes that the store was used on a day. Retention counts days of use: a clock that jumps ahead ages requests by one day only. */
    async noteDay(day: UtcDay): Promise<void> {
      await insertAll(session, 'notedDays', [{ day, dayCount: sql`${DAYS} + 1` }], { mayBeThere: true });
    },

    /**
     * Deletes requests answered at least `olderThanDays` noted days ago; never a running one, nor one whose burns may still land.
     * @returns the number deleted; less than `atMost` when no more are left
     */
    async removeDone(olderThanDays: number, atMost: number): Promise<number> {
      const deleted = await sql`delete from requests where id in (
        select id from requests where ${matching<'requests'>({ status: 'done' })}
          and day_count < ${DAYS} - ${olderThanDays} and ${HAS_ENDED} limit ${atMost})`.execute(db);
      return Number(deleted.numAffectedRows);
    },
  };
};

/** Ids of requests and batches with work left, each list in order of creation. */
export interface Unfinished {
  readonly burns: readonly string[];
  /** Batches in set-up that have no error. A set-up with an error waits for its project to resume or cancel it. */
  readonly setUps: readonly string[];
  /** Batches that the operator approved, or started to approve, and for which no cancellation or rejection was started. */
  readonly executions: readonly string[];
  /** Finished batches that may still have accounts on chain. */
  readonly closings: readonly string[];
}

const IS_EXECUTION = sql`and exists (select 1 from batch_transactions as step where step.batch_id = batches.id
    and phase in ('OPERATOR_APPROVAL', 'EXECUTE') and step.status in ('PENDING', 'LANDED'))
  and not exists (select 1 from batch_transactions as step where step.batch_id = batches.id and phase = 'CANCEL')
  and not exists (select 1 from issued_votes where issued_votes.batch_id = batches.id and kind <> 'approve')`;
const IS_CLOSING = sql`and (status = 'EXECUTED' or date_cancelled is not null)`;

export const unfinishedRepository = (session: StoreSession) => {
  const { find, list } = tableOf(session, 'batches', 'initResult', 'executeResult');
  return {
    /** @param tokenId - @default all projects */
    async all(tokenId?: string): Promise<Unfinished> {
      // Sorted here: with `order by`, SQLite would scan all batches and all burns.
      const idsIn = async (...found: Parameters<typeof list>): Promise<readonly string[]> =>
        (await list(...found)).toSorted((a, b) => a.ordinal - b.ordinal).map(({ id }) => id);
      const burns = (await burnRepository(session).open(tokenId)).toSorted((a, b) => a.sequence - b.sequence);
      return {
        burns: [
          ...new Set(burns.flatMap(({ status, requestId }) => (status === 'PENDING' ? requestId : []))),
        ],
        setUps: await idsIn({ tokenId, status: 'AVAILABLE_TO_QUEUE', initResult: null }),
        executions: await idsIn({ tokenId, status: 'FINALIZED' }, IS_EXECUTION),
        closings: await idsIn({ tokenId, dateClosed: null }, IS_CLOSING),
      };
    },

    isExecution: async (id: string): Promise<boolean> =>
      (await find({ id, status: 'FINALIZED' }, IS_EXECUTION)) !== undefined,
  };
};
