/** Batches: their plan, their place in the state machine, and what they have cost. */
import { type Selectable, sql, type Updateable } from 'kysely';
import type { BatchStatus } from '../../contract/schemas/batch.js';
import { invariant } from '../../errors/flywheel-error.js';
import { fromJson, toJsonOrNull, toU64Text } from '../column-values.js';
import type { BatchRecord, PlannedPipeline } from '../records.js';
import { executeOnce, expectAffected, type Session, takeNumbers } from '../session.js';
import { BATCH_TRANSITIONS, type BatchRepository } from '../store.js';
import type { BatchTable } from '../tables.js';
import { listBatches, toListed } from './batch-list.js';

type StoredPipeline = Omit<PlannedPipeline, 'burn' | 'airdrop'> & {
  readonly burn: string;
  readonly airdrop: string;
};

const planToJson = (pipelines: readonly PlannedPipeline[]): string =>
  JSON.stringify(
    pipelines.map(
      (pipeline): StoredPipeline => ({
        ...pipeline,
        burn: pipeline.burn.toString(),
        airdrop: pipeline.airdrop.toString(),
      }),
    ),
  );

const planFromJson = (text: string): PlannedPipeline[] =>
  fromJson<StoredPipeline[]>(text).map((pipeline) => ({
    ...pipeline,
    burn: BigInt(pipeline.burn),
    airdrop: BigInt(pipeline.airdrop),
  }));

const toRow = (batch: BatchRecord, ordinal: number): BatchTable => ({
  id: batch.id,
  ordinal,
  flywheel_id: batch.flywheelId,
  token_id: batch.tokenId,
  key_id: batch.keyId,
  request_id: batch.requestId,
  status: batch.status,
  batch_index: toU64Text(batch.batchIndex),
  day: batch.day,
  init_result: toJsonOrNull(batch.initResult),
  execute_result: toJsonOrNull(batch.executeResult),
  setup_rent_lamports: toU64Text(batch.setupRentLamports),
  instance: batch.instance,
  lease_until_ms: batch.leaseUntilMs,
  fee_lamports: toU64Text(batch.cost.feeLamports),
  rent_paid_lamports: toU64Text(batch.cost.rentPaidLamports),
  rent_reclaimed_lamports: toU64Text(batch.cost.rentReclaimedLamports),
  date_created: batch.dateCreated,
  date_updated: batch.dateUpdated,
  date_cancelled: batch.dateCancelled,
  date_closed: batch.dateClosed,
});

const toRecord = (row: Selectable<BatchTable> & { readonly pipelines: string }): BatchRecord => ({
  ...toListed(row),
  pipelines: planFromJson(row.pipelines),
});

/** Not final; written out, because a partial index serves only a condition that is. */
const OPEN = [sql.lit('AVAILABLE_TO_QUEUE' as const), sql.lit('FINALIZED' as const)];

const selectBatches = ({ db }: Session) =>
  db
    .selectFrom('batches')
    .innerJoin('batch_plans', 'batch_plans.batch_id', 'batches.id')
    .selectAll('batches')
    .select('batch_plans.pipelines');

async function update({ db }: Session, id: string, change: Updateable<BatchTable>): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('batches')
    .set(change)
    .where('id', '=', id)
    .executeTakeFirst();
  expectAffected(numUpdatedRows, 1, `There is no batch ${id}.`);
}

/** @returns whether the batch was held by the instance. */
async function updateHeld(
  { db }: Session,
  id: string,
  instance: string,
  change: Updateable<BatchTable>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('batches')
    .set(change)
    .where('id', '=', id)
    .where('instance', '=', instance)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

type Reads = Pick<
  BatchRepository,
  | 'get'
  | 'current'
  | 'list'
  | 'idAt'
  | 'ordinalOf'
  | 'openRentLamports'
  | 'unpaidRentLamports'
  | 'countByStatus'
>;
type Votes = Pick<BatchRepository, 'addVote' | 'votes'>;
type Writes = Pick<BatchRepository, 'insert' | 'transition' | 'addCost'>;
type Changes = Omit<BatchRepository, keyof Reads | keyof Votes | keyof Writes>;

const sumOfRent = (rows: readonly { readonly setup_rent_lamports: string }[]): bigint =>
  rows.reduce((sum, row) => sum + BigInt(row.setup_rent_lamports), 0n);

const reads = (session: Session): Reads => ({
  async get(id) {
    const row = await selectBatches(session).where('batches.id', '=', id).executeTakeFirst();
    return row && toRecord(row);
  },

  async current(tokenId) {
    // Whoever waits for a batch asks again and again.
    const { rows } = await executeOnce(session, 'current batch', [tokenId, 1], () =>
      selectBatches(session)
        .where('batches.token_id', '=', tokenId)
        .where('batches.status', 'in', OPEN)
        .orderBy('batches.ordinal', 'desc')
        .limit(1)
        .compile(),
    );
    return rows[0] && toRecord(rows[0]);
  },

  list: (filter) => listBatches(session, filter),

  async idAt(ordinal) {
    const found = session.db.selectFrom('batches').select('id').where('ordinal', '=', ordinal);
    return (await found.executeTakeFirstOrThrow()).id;
  },

  async ordinalOf(tokenId, id) {
    const row = await session.db
      .selectFrom('batches')
      .select('ordinal')
      .where('id', '=', id)
      .where('token_id', '=', tokenId)
      .executeTakeFirst();
    return row && Number(row.ordinal);
  },

  async openRentLamports(flywheelId) {
    const rows = await session.db
      .selectFrom('batches')
      .select('setup_rent_lamports')
      .where('flywheel_id', '=', flywheelId)
      .where('date_closed', 'is', null)
      .execute();
    return sumOfRent(rows);
  },

  async unpaidRentLamports(flywheelId, since) {
    const rows = await session.db
      .selectFrom('batches')
      .select('setup_rent_lamports')
      .where('flywheel_id', '=', flywheelId)
      .where('date_closed', 'is', null)
      .where(({ or, eb }) => or([eb('status', '=', 'AVAILABLE_TO_QUEUE'), eb('date_updated', '>=', since)]))
      .execute();
    return sumOfRent(rows);
  },

  async countByStatus() {
    const counts: Record<BatchStatus, number> = {
      AVAILABLE_TO_QUEUE: 0,
      FINALIZED: 0,
      EXECUTED: 0,
      FAILED: 0,
    };
    const rows = await session.db
      .selectFrom('batches')
      .select(({ fn }) => ['status', fn.countAll().as('count')])
      .groupBy('status')
      .execute();
    for (const { status, count } of rows) counts[status] = Number(count);
    return counts;
  },
});

const votes = (session: Session): Votes => ({
  async addVote(vote) {
    const ordinal = await takeNumbers(session, 'vote', 1);
    await session.db
      .insertInto('issued_votes')
      .values({
        signature: vote.signature,
        ordinal,
        batch_id: vote.batchId,
        kind: vote.kind,
        wire: vote.transaction,
        last_valid_block_height: toU64Text(vote.lastValidBlockHeight),
        date_created: vote.dateCreated,
      })
      .onConflict((conflict) => conflict.column('signature').doNothing())
      .execute();
  },

  async votes(id) {
    const rows = await session.db
      .selectFrom('issued_votes')
      .selectAll()
      .where('batch_id', '=', id)
      .orderBy('ordinal')
      .execute();
    return rows.map((row) => ({
      batchId: row.batch_id,
      kind: row.kind,
      transaction: row.wire,
      signature: row.signature,
      lastValidBlockHeight: BigInt(row.last_valid_block_height),
      dateCreated: row.date_created,
    }));
  },
});

const changes = (session: Session): Changes => ({
  setBatchIndex: (id, batchIndex, dateUpdated) =>
    update(session, id, { batch_index: toU64Text(batchIndex), date_updated: dateUpdated }),

  setInitResult: (id, initResult, dateUpdated) =>
    update(session, id, { init_result: JSON.stringify(initResult), date_updated: dateUpdated }),

  setCancelled: (id, dateCancelled) =>
    update(session, id, { date_cancelled: dateCancelled, date_updated: dateCancelled }),

  setClosed: (id, dateClosed) => update(session, id, { date_closed: dateClosed }),

  claim: (id, instance, leaseUntilMs) => update(session, id, { instance, lease_until_ms: leaseUntilMs }),

  renew: (id, instance, leaseUntilMs) => updateHeld(session, id, instance, { lease_until_ms: leaseUntilMs }),

  unclaim: (id, instance) => updateHeld(session, id, instance, { instance: null, lease_until_ms: 0 }),
});

const writes = (session: Session): Writes => ({
  async insert(batch) {
    const ordinal = await takeNumbers(session, 'batch', 1);
    await session.db.insertInto('batches').values(toRow(batch, ordinal)).execute();
    await session.db
      .insertInto('batch_plans')
      .values({ batch_id: batch.id, pipelines: planToJson(batch.pipelines) })
      .execute();
  },

  async transition(id, to, result, dateUpdated) {
    const from = BATCH_TRANSITIONS.filter(([, target]) => target === to).map(([source]) => source);
    invariant(from.length > 0, `No batch can become ${to}.`);
    const { numUpdatedRows } = await session.db
      .updateTable('batches')
      .set({
        status: to,
        date_updated: dateUpdated,
        ...(result.initResult && { init_result: JSON.stringify(result.initResult) }),
        ...(result.executeResult && { execute_result: JSON.stringify(result.executeResult) }),
      })
      .where('id', '=', id)
      .where('status', 'in', from)
      .executeTakeFirst();
    expectAffected(numUpdatedRows, 1, `Batch ${id} cannot become ${to} from the status it has.`);
  },

  async addCost(id, cost) {
    const row = await session.db
      .selectFrom('batches')
      .select(['fee_lamports', 'rent_paid_lamports', 'rent_reclaimed_lamports'])
      .where('id', '=', id)
      .executeTakeFirst();
    await update(session, id, {
      fee_lamports: toU64Text(BigInt(row?.fee_lamports ?? 0) + cost.feeLamports),
      rent_paid_lamports: toU64Text(BigInt(row?.rent_paid_lamports ?? 0) + cost.rentPaidLamports),
      rent_reclaimed_lamports: toU64Text(
        BigInt(row?.rent_reclaimed_lamports ?? 0) + cost.rentReclaimedLamports,
      ),
    });
  },
});

export const batchRepository = (session: Session): BatchRepository => ({
  ...reads(session),
  ...votes(session),
  ...changes(session),
  ...writes(session),
});
