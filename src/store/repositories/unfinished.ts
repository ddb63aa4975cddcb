/** Work that was begun and has not come to its end, whoever is at it: found by a few partial indexes, and nearly always nothing. */
import { sql } from 'kysely';
import type { RequestRecord } from '../records.js';
import { OPEN, PENDING, RUNNING, type Session } from '../session.js';
import { REQUEST } from './requests.js';

/** Who takes, and what. */
export interface TakeTerms {
  readonly lease: { readonly holder: string; readonly leaseUntilMs: number };
  readonly nowMs: number;
  /** Ids of requests that are not taken. */
  readonly except: readonly string[];
  /** Of this project only. @default of any */
  readonly tokenId?: string | null;
}

/** A request that was just taken. */
export interface TakenRequest {
  readonly request: RequestRecord;
  /** Who held it until then. */
  readonly from: string | null;
}

/** In the order in which it was begun; of one project, or of all. */
export const unfinishedRepository = ({ db, database }: Session) => {
  const batches = db.selectFrom('batches').select('id');
  /** Batches that the operator has approved, or set out to, and that nobody has begun to end. */
  const executions = batches.where('status', '=', 'FINALIZED').where(
    sql<boolean>`exists (select 1 from bundles where bundles.batch_id = batches.id
        and phase in ('OPERATOR_APPROVAL', 'EXECUTE') and bundles.status in ('PENDING', 'LANDED'))
      and not exists (select 1 from bundles where bundles.batch_id = batches.id and phase = 'CANCEL')
      and not exists (select 1 from issued_votes where issued_votes.batch_id = batches.id and kind <> 'approve')`,
  );
  const idsIn = async (found: typeof batches, tokenId: string | null): Promise<readonly string[]> => {
    const own = tokenId === null ? found : found.where('tokenId', '=', tokenId);
    return (await own.orderBy('ordinal').execute()).map(({ id }) => id);
  };

  return {
    /** Ids of requests that have pending burns. */
    async burnRequests(tokenId: string | null = null): Promise<readonly string[]> {
      const pending = db.selectFrom('burns').select('requestId').where(OPEN).where('status', '=', PENDING);
      const own = tokenId === null ? pending : pending.where('tokenId', '=', tokenId);
      return [...new Set((await own.execute()).map(({ requestId }) => requestId))];
    },

    /**
     * Takes the oldest running request that has pending burns and that nobody holds, of whichever project; one that somebody else
     * is taking at this very time is passed over.
     */
    async takeBurns({ lease, nowMs, except, tokenId = null }: TakeTerms): Promise<TakenRequest | undefined> {
      let free = db
        .selectFrom('requests')
        .select(['id', 'holder'])
        .where('status', '=', RUNNING)
        // A lease that ends later than any that is taken now is from before the clock was set back.
        .where(({ or, eb }) =>
          or([eb('leaseUntilMs', '<=', nowMs), eb('leaseUntilMs', '>', lease.leaseUntilMs)]),
        )
        .where(
          sql<boolean>`exists (select 1 from burns where burns.request_id = requests.id and burns.status = ${PENDING})`,
        )
        .orderBy('dateCreated')
        .orderBy('id')
        .limit(1);
      if (tokenId !== null) free = free.where('tokenId', '=', tokenId);
      if (except.length > 0) free = free.where('id', 'not in', except);
      if (database === 'postgres') free = free.forUpdate().skipLocked();
      const found = await free.executeTakeFirst();
      if (found === undefined) return undefined;
      // Its row is locked, or nobody else writes.
      const taken = db.updateTable('requests').set(lease).where('id', '=', found.id).returning(REQUEST);
      return { request: await taken.executeTakeFirstOrThrow(), from: found.holder };
    },

    /** Ids of batches whose set-up was begun. What was stopped for a reason is for its project to carry on or to cancel. */
    setUps: (tokenId: string | null = null): Promise<readonly string[]> =>
      idsIn(batches.where('status', '=', 'AVAILABLE_TO_QUEUE').where('initResult', 'is', null), tokenId),

    /** Ids of batches that the operator has approved, or set out to, and that nobody has begun to end. */
    executions: (tokenId: string | null = null): Promise<readonly string[]> => idsIn(executions, tokenId),

    /** Is the batch one of them? */
    isExecution: async (batchId: string): Promise<boolean> =>
      (await executions.where('id', '=', batchId).executeTakeFirst()) !== undefined,

    /** Ids of batches that are over and may have left something on chain. */
    closings: (tokenId: string | null = null): Promise<readonly string[]> =>
      idsIn(
        batches.where(
          sql<boolean>`(status = 'EXECUTED' or date_cancelled is not null) and date_closed is null`,
        ),
        tokenId,
      ),
  };
};
