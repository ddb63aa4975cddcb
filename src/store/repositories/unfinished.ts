/** What was begun and has not come to its end, whoever is at it: found by a few partial indexes, and nearly always nothing. */
import { sql } from 'kysely';
import type { Session } from '../session.js';
import type { TakenRequest, TakeTerms, UnfinishedRepository } from '../unfinished-repository.js';
import { toRequest } from './requests.js';

// Literals, because a partial index serves only a condition that is written out.
const RUNNING = sql.lit('running' as const);
const PENDING = sql.lit('PENDING' as const);
const QUEUED = sql.lit('AVAILABLE_TO_QUEUE' as const);
const FINALIZED = sql.lit('FINALIZED' as const);

const executions = (db: Session['db']) =>
  db
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
    );

/** One statement: what is found is locked and taken, and what is locked is not looked at. */
async function takeBurns({ db, locksRows }: Session, terms: TakeTerms): Promise<TakenRequest | undefined> {
  const { instance, nowMs, leaseUntilMs, gone, except, tokenId = null } = terms;
  let free = db
    .selectFrom('requests')
    .select(['id', 'instance'])
    .where('status', '=', RUNNING)
    .where(({ or, eb }) =>
      or([eb('lease_until_ms', '<=', nowMs), ...gone.map((holder) => eb('instance', '=', holder))]),
    )
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('burns')
          .select('sequence')
          .whereRef('burns.request_id', '=', 'requests.id')
          .where('burns.status', '=', PENDING),
      ),
    )
    .orderBy('date_created')
    .orderBy('id')
    .limit(1);
  if (tokenId !== null) free = free.where('token_id', '=', tokenId);
  if (except.length > 0) free = free.where('id', 'not in', except);
  const found = await (locksRows ? free.forUpdate().skipLocked() : free).executeTakeFirst();
  if (found === undefined) return undefined;
  // Its row is locked, or nobody else writes.
  const row = await db
    .updateTable('requests')
    .set({ instance, lease_until_ms: leaseUntilMs })
    .where('id', '=', found.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return { request: toRequest(row), from: found.instance };
}

export const unfinishedRepository = (session: Session): UnfinishedRepository => ({
  ...found(session),
  takeBurns: (terms) => takeBurns(session, terms),
});

const found = ({ db }: Session): Omit<UnfinishedRepository, 'takeBurns'> => ({
  async holders(nowMs) {
    const rows = await db
      .selectFrom('requests')
      .select('instance')
      .distinct()
      .where('status', '=', RUNNING)
      .where('lease_until_ms', '>', nowMs)
      .execute();
    return rows.map(({ instance }) => instance);
  },

  async burnRequests(tokenId = null) {
    const pending = db.selectFrom('burns').select('request_id').distinct().where('status', '=', PENDING);
    const rows = await (tokenId === null ? pending : pending.where('token_id', '=', tokenId)).execute();
    return rows.map((row) => row.request_id);
  },

  async setUps(tokenId = null) {
    const begun = db
      .selectFrom('batches')
      .select('id')
      .where('status', '=', QUEUED)
      // What was stopped for a reason is for its project to carry on or to cancel.
      .where('init_result', 'is', null)
      .orderBy('ordinal');
    const rows = await (tokenId === null ? begun : begun.where('token_id', '=', tokenId)).execute();
    return rows.map((row) => row.id);
  },

  async executions(tokenId = null) {
    const begun = executions(db).orderBy('ordinal');
    const rows = await (tokenId === null ? begun : begun.where('token_id', '=', tokenId)).execute();
    return rows.map((row) => row.id);
  },

  async isExecution(batchId) {
    return (await executions(db).where('id', '=', batchId).executeTakeFirst()) !== undefined;
  },

  async closings(tokenId = null) {
    const open = db
      .selectFrom('batches')
      .select('id')
      .where('status', '=', 'EXECUTED')
      .where('date_closed', 'is', null)
      .orderBy('ordinal');
    const rows = await (tokenId === null ? open : open.where('token_id', '=', tokenId)).execute();
    return rows.map((row) => row.id);
  },
});
