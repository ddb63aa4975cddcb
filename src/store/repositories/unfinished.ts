/** Work that was begun and has not come to its end, whoever is at it: found by a few partial indexes, and nearly always nothing. */
import { sql } from 'kysely';
import type { RequestRecord } from '../records.js';
import type { Session } from '../session.js';
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

// Literals, because a partial index serves only a condition that is written out.
const RUNNING = sql.lit('running' as const);
const PENDING = sql.lit('PENDING' as const);
const QUEUED = sql.lit('AVAILABLE_TO_QUEUE' as const);
const FINALIZED = sql.lit('FINALIZED' as const);

const idsOf = (rows: readonly { readonly id: string }[]): readonly string[] => rows.map(({ id }) => id);

/** In the order in which it was begun; of one project, or of all. */
export const unfinishedRepository = ({ db, database }: Session) => {
  /** Batches that the operator has approved, or set out to, and that nobody has begun to end. */
  const executions = db
    .selectFrom('batches')
    .select('id')
    .where('status', '=', FINALIZED)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('bundles')
          .select('bundles.id')
          .whereRef('bundles.batchId', '=', 'batches.id')
          .where('bundles.phase', 'in', ['OPERATOR_APPROVAL', 'EXECUTE'])
          .where('bundles.status', 'in', ['PENDING', 'LANDED']),
      ),
    )
    .where(({ exists, not, selectFrom }) =>
      not(
        exists(
          selectFrom('issuedVotes')
            .select('issuedVotes.signature')
            .whereRef('issuedVotes.batchId', '=', 'batches.id')
            .where('issuedVotes.kind', '<>', 'approve'),
        ),
      ),
    )
    .where(({ exists, not, selectFrom }) =>
      not(
        exists(
          selectFrom('bundles')
            .select('bundles.id')
            .whereRef('bundles.batchId', '=', 'batches.id')
            .where('bundles.phase', '=', 'CANCEL'),
        ),
      ),
    );
  const idsIn = async (found: typeof executions, tokenId: string | null): Promise<readonly string[]> =>
    idsOf(
      await found
        .$if(tokenId !== null, (all) => all.where('tokenId', '=', tokenId as string))
        .orderBy('ordinal')
        .execute(),
    );
  const batches = db.selectFrom('batches').select('id');

  return {
    /** Ids of requests that have pending burns. */
    async burnRequests(tokenId: string | null = null): Promise<readonly string[]> {
      const rows = await db
        .selectFrom('burns')
        .select('requestId')
        .distinct()
        .where('status', '=', PENDING)
        .$if(tokenId !== null, (all) => all.where('tokenId', '=', tokenId as string))
        .execute();
      return rows.map(({ requestId }) => requestId);
    },

    /**
     * Takes the oldest running request that has pending burns and that nobody holds, of whichever project; one that somebody else
     * is taking at this very time is passed over.
     */
    async takeBurns(terms: TakeTerms): Promise<TakenRequest | undefined> {
      const { lease, nowMs, except, tokenId = null } = terms;
      let free = db
        .selectFrom('requests')
        .select(['id', 'holder'])
        .where('status', '=', RUNNING)
        // A lease that ends later than any that is taken now is from before the clock was set back.
        .where(({ or, eb }) =>
          or([eb('leaseUntilMs', '<=', nowMs), eb('leaseUntilMs', '>', lease.leaseUntilMs)]),
        )
        .where(({ exists, selectFrom }) =>
          exists(
            selectFrom('burns')
              .select('sequence')
              .whereRef('burns.requestId', '=', 'requests.id')
              .where('burns.status', '=', PENDING),
          ),
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
      const request = await db
        .updateTable('requests')
        .set(lease)
        .where('id', '=', found.id)
        .returning(REQUEST)
        .executeTakeFirstOrThrow();
      return { request, from: found.holder };
    },

    /** Ids of batches whose set-up was begun. What was stopped for a reason is for its project to carry on or to cancel. */
    setUps: (tokenId: string | null = null): Promise<readonly string[]> =>
      idsIn(batches.where('status', '=', QUEUED).where('initResult', 'is', null), tokenId),

    /** Ids of batches that the operator has approved, or set out to, and that nobody has begun to end. */
    executions: (tokenId: string | null = null): Promise<readonly string[]> => idsIn(executions, tokenId),

    /** Is the batch one of them? */
    isExecution: async (batchId: string): Promise<boolean> =>
      (await executions.where('id', '=', batchId).executeTakeFirst()) !== undefined,

    /** Ids of executed batches that may have left something on chain. */
    closings: (tokenId: string | null = null): Promise<readonly string[]> =>
      idsIn(batches.where('status', '=', 'EXECUTED').where('dateClosed', 'is', null), tokenId),
  };
};
