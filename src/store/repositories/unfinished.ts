/** Work that was begun and has not come to its end, whoever is at it: found by a few partial indexes, and nearly always nothing. */
import { sql } from 'kysely';
import { OPEN, PENDING, type Session } from '../session.js';

/** In the order in which it was begun; of one project, or of all. */
export const unfinishedRepository = ({ db }: Session) => {
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
      const open = db.selectFrom('burns').select(['requestId', 'sequence']).where(OPEN);
      const pending = open.where('status', '=', PENDING);
      const rows = await (tokenId === null ? pending : pending.where('tokenId', '=', tokenId)).execute();
      // Sorted here, since for the order SQLite would look through all burns.
      return [...new Set(rows.toSorted((a, b) => a.sequence - b.sequence).map(({ requestId }) => requestId))];
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
