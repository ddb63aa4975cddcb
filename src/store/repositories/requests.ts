/** Requests: the idempotency record of every operation, from its first sign of life to the end of its retention. */
import { type Selectable, sql } from 'kysely';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import type { RequestRecord } from '../records.js';
import { countOn, executeOnce, expectAffected, type Session } from '../session.js';
import type { RequestRepository } from '../store.js';
import type { RequestTable } from '../tables.js';

export const toRequest = (row: Selectable<RequestTable>): RequestRecord => ({
  id: row.id,
  tokenId: row.token_id,
  keyId: row.key_id,
  operation: row.operation,
  value: row.value,
  fingerprint: row.fingerprint as Sha256,
  status: row.status,
  instance: row.instance,
  leaseUntilMs: Number(row.lease_until_ms),
  reply: row.reply,
  batchId: row.batch_id,
  dateCreated: row.date_created,
});

// Literals, because a partial index serves only a condition that is written out.
const RUNNING = sql.lit('running' as const);
const DONE = sql.lit('done' as const);
const PENDING = sql.lit('PENDING' as const);

/** How many days have been noted. */
const DAYS = sql<number>`coalesce((select value from counters where name = 'day'), 0)`;

type Writes = Pick<
  RequestRepository,
  'insert' | 'claim' | 'renew' | 'linkBatch' | 'complete' | 'completeHeld'
>;
type Reads = Pick<RequestRepository, 'find' | 'get' | 'running'>;
type Removals = Pick<RequestRepository, 'noteDay' | 'remove' | 'removeDone'>;

async function countDays(db: Session['db']): Promise<number> {
  const row = await db.selectFrom('counters').select('value').where('name', '=', 'day').executeTakeFirst();
  return Number(row?.value ?? 0);
}

const toRow = (request: RequestRecord): Omit<RequestTable, 'day_count'> => ({
  id: request.id,
  token_id: request.tokenId,
  key_id: request.keyId,
  operation: request.operation,
  value: request.value,
  fingerprint: request.fingerprint,
  status: request.status,
  instance: request.instance,
  lease_until_ms: request.leaseUntilMs,
  reply: request.reply,
  batch_id: request.batchId,
  date_created: request.dateCreated,
});

const answer = (db: Session['db'], id: string, reply: string) =>
  db
    .updateTable('requests')
    .set({ status: 'done', reply })
    .where('id', '=', id)
    .where('status', '=', RUNNING);

const writes = (session: Session, { db } = session): Writes => ({
  async insert(request) {
    const row = toRow(request);
    const { numAffectedRows } = await executeOnce(session, 'insert a request', Object.values(row), () =>
      db
        .insertInto('requests')
        .values({ ...row, day_count: DAYS })
        .onConflict((conflict) => conflict.columns(['token_id', 'operation', 'value']).doNothing())
        .compile(),
    );
    if (numAffectedRows === 0n) {
      throw new FlywheelError('ERR_DUPLICATE_IDEMPOTENCY_KEY', 'The idempotency key is already in use.');
    }
  },

  async claim(from, instance, leaseUntilMs) {
    const { numUpdatedRows } = await db
      .updateTable('requests')
      .set({ instance, lease_until_ms: leaseUntilMs })
      .where('id', '=', from.id)
      .where('instance', '=', from.instance)
      .where('lease_until_ms', '=', from.leaseUntilMs)
      .where('status', '=', RUNNING)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  },

  async renew(id, instance, leaseUntilMs) {
    const { numUpdatedRows } = await db
      .updateTable('requests')
      .set({ lease_until_ms: leaseUntilMs })
      .where('id', '=', id)
      .where('instance', '=', instance)
      .where('status', '=', RUNNING)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  },

  async linkBatch(id, batchId) {
    const { numUpdatedRows } = await db
      .updateTable('requests')
      .set({ batch_id: batchId })
      .where('id', '=', id)
      .executeTakeFirst();
    expectAffected(numUpdatedRows, 1, `There is no request ${id} to link to a batch.`);
  },

  async complete(id, reply) {
    const { numUpdatedRows } = await answer(db, id, reply).executeTakeFirst();
    expectAffected(numUpdatedRows, 1, `There is no running request ${id} to complete.`);
  },

  async completeHeld(id, instance, reply) {
    const parameters = ['done', reply, id, instance];
    const { numAffectedRows } = await executeOnce(session, 'complete a held request', parameters, () =>
      answer(db, id, reply).where('instance', '=', instance).compile(),
    );
    return numAffectedRows === 1n;
  },
});

const reads = ({ db }: Session): Reads => ({
  async find(tokenId, operation, value) {
    const row = await db
      .selectFrom('requests')
      .selectAll()
      .where('token_id', '=', tokenId)
      .where('operation', '=', operation)
      .where('value', '=', value)
      .executeTakeFirst();
    return row && toRequest(row);
  },

  async get(id) {
    const row = await db.selectFrom('requests').selectAll().where('id', '=', id).executeTakeFirst();
    return row && toRequest(row);
  },

  async running() {
    const rows = await db
      .selectFrom('requests')
      .selectAll()
      .where('status', '=', RUNNING)
      .orderBy('date_created')
      .orderBy('id')
      .execute();
    return rows.map(toRequest);
  },
});

const removals = (session: Session): Removals => ({
  async remove(id) {
    await session.db.deleteFrom('requests').where('id', '=', id).execute();
  },

  async noteDay(day) {
    const { numInsertedOrUpdatedRows } = await session.db
      .insertInto('noted_days')
      .values({ day })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n ? countOn(session, 'day', 1) : countDays(session.db);
  },

  async removeDone(olderThanDays, atMost) {
    const newest = (await countDays(session.db)) - olderThanDays;
    const old = session.db
      .selectFrom('requests')
      .select('requests.id')
      .where('status', '=', DONE)
      .where('day_count', '<', newest)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('burns')
              .select('burns.sequence')
              .whereRef('burns.request_id', '=', 'requests.id')
              .where('burns.status', '=', PENDING),
          ),
        ),
      )
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('landings')
              .innerJoin('burns', 'burns.sequence', 'landings.burn_sequence')
              .select('landings.slot')
              .whereRef('burns.request_id', '=', 'requests.id'),
          ),
        ),
      )
      .limit(atMost);
    const { numDeletedRows } = await session.db
      .deleteFrom('requests')
      .where('id', 'in', old)
      .executeTakeFirst();
    return Number(numDeletedRows);
  },
});

export const requestRepository = (session: Session): RequestRepository => ({
  ...writes(session),
  ...reads(session),
  ...removals(session),
});
