/** Requests: the idempotency record of every operation, from its start to the end of its retention; and all unfinished work. */
import { sql } from 'kysely';
import type { KeyedOperationId } from '../../contract/operations.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { UtcDay } from '../../values/time.js';
import type { RequestRecord } from '../records.js';
import { DONE, FREE, insertAll, leasesOf, OPEN, PENDING, type StoreSession, tableOf } from '../session.js';

const KEYED: readonly KeyedOperationId[] = ['burn', 'burnBatch', 'initBatch'];

/** A request is kept until none of its burns is PENDING or CONFIRMED. */
const HAS_ENDED = sql<boolean>`not exists (select 1 from burns where burns.request_id = requests.id and ${OPEN})`;

export const requestsOf = ({ db }: StoreSession, tokenId: string, idempotencyKey: string) =>
  db
    .selectFrom('requests')
    .select('requests.id')
    .where('requests.tokenId', '=', tokenId)
    .where('requests.operation', 'in', KEYED)
    .where('requests.value', '=', idempotencyKey);

export const requestRepository = (session: StoreSession) => {
  const { db } = session;
  const requests = tableOf(session, 'requests', 'dayCount');
  const countDays = async (): Promise<number> => {
    const row = await db
      .selectFrom('notedDays')
      .select(({ fn }) => fn.max('dayCount').as('days'))
      .executeTakeFirst();
    return row?.days ?? 0;
  };
  return {
    find: requests.find,

    /** @returns `false`, with nothing written, if (token, operation, value) is taken */
    async insert(request: RequestRecord): Promise<boolean> {
      const dayCount = sql`coalesce((select max(day_count) from noted_days), 0)`;
      const row = { ...request, dayCount };
      return (await insertAll(session, 'requests', [row], { mayBeThere: true })) === 1;
    },

    ...leasesOf(session, 'requests'),

    linkBatch: (id: string, batchId: string): Promise<void> => requests.change({ id }, { batchId }),

    complete: (id: string, reply: string): Promise<void> =>
      requests.change({ id, status: 'running' }, { status: 'done', reply, ...FREE }),

    /** Completes the request only if `holder` still has its lease. @returns whether it did */
    completeHeld: (id: string, holder: string, reply: string): Promise<boolean> =>
      requests.changes({ id, status: 'running', holder }, { status: 'done', reply, ...FREE }),

    /** Removes the answer and the lease. @returns `false` if the request was already deleted */
    reopen: (id: string): Promise<boolean> =>
      requests.changes({ id }, { status: 'running', reply: null, ...FREE }),

    /** A failed request frees its idempotency key. @throws `ERR_INTERNAL` if burns of it may still land */
    async remove(id: string): Promise<void> {
      const { numDeletedRows } = await db
        .deleteFrom('requests')
        .where('id', '=', id)
        .where(HAS_ENDED)
        .executeTakeFirst();
      if (numDeletedRows === 0n && (await requests.find({ id })) !== undefined)
        throw new FlywheelError('ERR_INTERNAL', `Burns of request ${id} may still land.`);
    },

    /**
     * Notes that the store was used on a day. Retention counts days of use: a clock that jumps ahead ages requests by one day only.
     * @returns the number of noted days
     */
    async noteDay(day: UtcDay): Promise<number> {
      const dayCount = sql`(select coalesce(max(day_count), 0) + 1 from noted_days)`;
      await insertAll(session, 'notedDays', [{ day, dayCount }], { mayBeThere: true });
      return countDays();
    },

    /**
     * Deletes requests answered at least `olderThanDays` noted days ago; never a running one, nor one whose burns may still land.
     * @returns the number deleted; less than `atMost` when no more are left
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

export const unfinishedRepository = ({ db }: StoreSession) => {
  const batches = db.selectFrom('batches').select(['id', 'ordinal']);
  const executions = batches.where('status', '=', 'FINALIZED').where(
    sql<boolean>`exists (select 1 from bundles where bundles.batch_id = batches.id
        and phase in ('OPERATOR_APPROVAL', 'EXECUTE') and bundles.status in ('PENDING', 'LANDED'))
      and not exists (select 1 from bundles where bundles.batch_id = batches.id and phase = 'CANCEL')
      and not exists (select 1 from issued_votes where issued_votes.batch_id = batches.id and kind <> 'approve')`,
  );
  const setUps = batches.where('status', '=', 'AVAILABLE_TO_QUEUE').where('initResult', 'is', null);
  const closings = batches.where(
    sql<boolean>`(status = 'EXECUTED' or date_cancelled is not null) and date_closed is null`,
  );

  return {
    /** @param tokenId - @default all projects */
    async all(tokenId: string | null = null): Promise<Unfinished> {
      // Sorted here: with `order by`, SQLite would scan all batches and all burns.
      const idsIn = async (found: typeof batches): Promise<readonly string[]> => {
        const own = tokenId === null ? found : found.where('tokenId', '=', tokenId);
        return (await own.execute()).toSorted((a, b) => a.ordinal - b.ordinal).map(({ id }) => id);
      };
      const open = db.selectFrom('burns').select(['requestId', 'sequence']).where(OPEN);
      const pending = open.where('status', '=', PENDING);
      const rows = await (tokenId === null ? pending : pending.where('tokenId', '=', tokenId)).execute();
      const sorted = rows.toSorted((a, b) => a.sequence - b.sequence);
      return {
        burns: [...new Set(sorted.map(({ requestId }) => requestId))],
        setUps: await idsIn(setUps),
        executions: await idsIn(executions),
        closings: await idsIn(closings),
      };
    },

    isExecution: async (batchId: string): Promise<boolean> =>
      (await executions.where('id', '=', batchId).executeTakeFirst()) !== undefined,
  };
};
