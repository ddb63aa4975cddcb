/** What was begun and has not come to its end, whoever is at it: found by a few partial indexes, and nearly always nothing. */
import { sql } from 'kysely';
import type { Session } from '../session.js';
import type { UnfinishedRepository } from '../unfinished-repository.js';

// Literals, because a partial index serves only a condition that is written out.
const PENDING = sql.lit('PENDING' as const);
const QUEUED = sql.lit('AVAILABLE_TO_QUEUE' as const);
const FINALIZED = sql.lit('FINALIZED' as const);

export const unfinishedRepository = ({ db }: Session): UnfinishedRepository => ({
  async burnRequests() {
    const rows = await db
      .selectFrom('burns')
      .select('request_id')
      .distinct()
      .where('status', '=', PENDING)
      .execute();
    return rows.map((row) => row.request_id);
  },

  async setUps() {
    const rows = await db
      .selectFrom('batches')
      .select('id')
      .where('status', '=', QUEUED)
      // What was stopped for a reason is for its project to carry on or to cancel.
      .where('init_result', 'is', null)
      .orderBy('ordinal')
      .execute();
    return rows.map((row) => row.id);
  },

  async executions() {
    const rows = await db
      .selectFrom('batches')
      .select('id')
      .where('status', '=', FINALIZED)
      .where(({ and, exists, not, selectFrom }) =>
        and([
          exists(
            selectFrom('bundles')
              .select('bundles.id')
              .whereRef('bundles.batch_id', '=', 'batches.id')
              .where('bundles.phase', 'in', ['OPERATOR_APPROVAL', 'EXECUTE'])
              .where('bundles.status', 'in', ['PENDING', 'LANDED']),
          ),
          not(
            exists(
              selectFrom('issued_votes')
                .select('issued_votes.signature')
                .whereRef('issued_votes.batch_id', '=', 'batches.id')
                .where('issued_votes.kind', '<>', 'approve'),
            ),
          ),
          not(
            exists(
              selectFrom('bundles')
                .select('bundles.id')
                .whereRef('bundles.batch_id', '=', 'batches.id')
                .where('bundles.phase', '=', 'CANCEL'),
            ),
          ),
        ]),
      )
      .orderBy('ordinal')
      .execute();
    return rows.map((row) => row.id);
  },

  async closings() {
    const rows = await db
      .selectFrom('batches')
      .select('id')
      .where('status', '=', 'EXECUTED')
      .where('date_closed', 'is', null)
      .orderBy('ordinal')
      .execute();
    return rows.map((row) => row.id);
  },
});
