/** Requests: the idempotency record of every operation, from its first sign of life to the end of its retention. */
import { sql } from 'kysely';
import type { KeyedOperationId } from '../../contract/operations.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { UtcDay } from '../../values/time.js';
import type { RequestRecord } from '../records.js';
import { columnsBut, DONE, OPEN, rowOf, type Session } from '../session.js';

const REQUEST = columnsBut('requests', 'dayCount');

const KEYED: readonly KeyedOperationId[] = ['burn', 'burnBatch', 'initBatch'];

/** Have all burns of a request come to their end? Else it is kept for them. */
const HAS_ENDED = sql<boolean>`not exists (select 1 from burns where burns.request_id = requests.id and ${OPEN})`;

/** Ids of the requests that came with an idempotency key, whatever they are about. */
export const requestsOf = ({ db }: Session, tokenId: string, idempotencyKey: string) =>
  db
    .selectFrom('requests')
    .select('requests.id')
    .where('requests.tokenId', '=', tokenId)
    .where('requests.operation', 'in', KEYED)
    .where('requests.value', '=', idempotencyKey);

export const requestRepository = (session: Session) => {
  const { db } = session;
  const requests = db.selectFrom('requests').select(REQUEST);
  const row = rowOf(session, 'requests');
  const countDays = async (): Promise<number> => {
    const row = await db
      .selectFrom('notedDays')
      .select(({ fn }) => fn.max('dayCount').as('days'))
      .executeTakeFirst();
    return row?.days ?? 0;
  };
  return {
    /** @throws `ERR_DUPLICATE_IDEMPOTENCY_KEY` when (token, operation, value) is taken. */
    async insert(request: RequestRecord): Promise<void> {
      const dayCount = sql<number>`coalesce((select max(day_count) from noted_days), 0)`;
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('requests')
        .values({ ...request, dayCount })
        .onConflict((conflict) => conflict.columns(['tokenId', 'operation', 'value']).doNothing())
        .executeTakeFirst();
      if (numInsertedOrUpdatedRows !== 1n)
        throw new FlywheelError('ERR_DUPLICATE_IDEMPOTENCY_KEY', 'The idempotency key is already in use.');
    },

    find: (tokenId: string, operation: KeyedOperationId, value: string): Promise<RequestRecord | undefined> =>
      requests.where(({ and }) => and({ tokenId, operation, value })).executeTakeFirst(),

    get: (id: string): Promise<RequestRecord | undefined> => requests.where('id', '=', id).executeTakeFirst(),

    /** Takes over a running request whose lease is still the one that was read. @returns whether it was. */
    claim: (
      { id, leaseUntilMs }: Pick<RequestRecord, 'id' | 'leaseUntilMs'>,
      lease: Pick<RequestRecord, 'holder' | 'leaseUntilMs'>,
    ): Promise<boolean> => row.changes({ id, status: 'running', leaseUntilMs }, lease),

    /** Prolongs a lease. @returns whether it was still held so: another, by whose clock it was over, may have taken it. */
    renew: (id: string, holder: string, leaseUntilMs: number): Promise<boolean> =>
      row.changes({ id, status: 'running', holder }, { leaseUntilMs }),

    /** Gives a lease up, if it is still held so. @returns whether it was. */
    release: (id: string, holder: string): Promise<boolean> =>
      row.changes({ id, status: 'running', holder }, { holder: null, leaseUntilMs: 0 }),

    linkBatch: (id: string, batchId: string): Promise<void> =>
      row.mustChange({ id }, { batchId }, `There is no request ${id} to link to a batch.`),

    complete: (id: string, reply: string): Promise<void> =>
      row.mustChange(
        { id, status: 'running' },
        { status: 'done', reply },
        `There is no running request ${id} to complete.`,
      ),

    /** The same, if the request is still held so. @returns whether it was. */
    completeHeld: (id: string, holder: string, reply: string): Promise<boolean> =>
      row.changes({ id, status: 'running', holder }, { status: 'done', reply }),

    /** The request has no answer again, and nobody works on it; one that is forgotten stays so. */
    reopen: (id: string): Promise<boolean> =>
      row.changes({ id }, { status: 'running', reply: null, holder: null, leaseUntilMs: 0 }),

    /** A failed request does not use its key up. @throws `ERR_INTERNAL` for one whose burns may still land. */
    async remove(id: string): Promise<void> {
      const { numDeletedRows } = await db
        .deleteFrom('requests')
        .where('id', '=', id)
        .where(HAS_ENDED)
        .executeTakeFirst();
      if (numDeletedRows === 0n && (await requests.where('id', '=', id).executeTakeFirst()) !== undefined)
        throw new FlywheelError('ERR_INTERNAL', `Burns of request ${id} may still land.`);
    },

    /**
     * Notes that the store was in use on a day. Retention counts days of use: a clock that jumps ahead ages nothing by more than
     * one.
     * @returns how many days have been noted.
     */
    async noteDay(day: UtcDay): Promise<number> {
      const dayCount = sql<number>`(select coalesce(max(day_count), 0) + 1 from noted_days)`;
      await db
        .insertInto('notedDays')
        .values({ day, dayCount })
        .onConflict((conflict) => conflict.column('day').doNothing())
        .execute();
      return countDays();
    },

    /**
     * Forgets answers that were given at least so many noted days ago; never a running request, nor one whose burns may still
     * land.
     * @param atMost - so many of them.
     * @returns how many it were; fewer than asked for when none is left.
     */
    async removeDone(olderThanDays: number, atMost: number): Promise<number> {
      const old = db
        .selectFrom('requests')
        .select('requests.id')
        .where('status', '=', DONE)
        .where('dayCount', '<', (await countDays()) - olderThanDays)
        .where(HAS_ENDED)
        .limit(atMost);
      const { numDeletedRows } = await db.deleteFrom('requests').where('id', 'in', old).executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
};
