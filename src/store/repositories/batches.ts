/** Batches: their plan, their place in the state machine, and what they have cost. */
import { type Selectable, sql, type Updateable } from 'kysely';
import type { BatchStatus, ExecuteResult, InitResult } from '../../contract/schemas/batch.js';
import { invariant } from '../../errors/flywheel-error.js';
import type { UtcDay } from '../../values/time.js';
import {
  fromJson,
  fromJsonOrNull,
  fromU64TextOrNull,
  toJsonOrNull,
  toU64Text,
  toU64TextOrNull,
} from '../column-values.js';
import type { BatchRecord, PlannedPipeline } from '../records.js';
import { expectAffected, type Session, takeNumbers } from '../session.js';
import { BATCH_TRANSITIONS, type BatchRepository } from '../store.js';
import type { BatchTable } from '../tables.js';

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
  approval_tx: batch.approvalTx,
  approval_last_valid_block_height: toU64TextOrNull(batch.approvalLastValidBlockHeight),
  instance: batch.instance,
  lease_until_ms: batch.leaseUntilMs,
  fee_lamports: toU64Text(batch.cost.feeLamports),
  rent_paid_lamports: toU64Text(batch.cost.rentPaidLamports),
  rent_reclaimed_lamports: toU64Text(batch.cost.rentReclaimedLamports),
  date_created: batch.dateCreated,
  date_updated: batch.dateUpdated,
});

const toRecord = (row: Selectable<BatchTable> & { readonly pipelines: string }): BatchRecord => ({
  id: row.id,
  flywheelId: row.flywheel_id,
  tokenId: row.token_id,
  keyId: row.key_id,
  requestId: row.request_id,
  status: row.status,
  batchIndex: BigInt(row.batch_index),
  pipelines: planFromJson(row.pipelines),
  day: row.day as UtcDay,
  initResult: fromJsonOrNull<InitResult>(row.init_result),
  executeResult: fromJsonOrNull<ExecuteResult>(row.execute_result),
  approvalTx: row.approval_tx,
  approvalLastValidBlockHeight: fromU64TextOrNull(row.approval_last_valid_block_height),
  instance: row.instance,
  leaseUntilMs: Number(row.lease_until_ms),
  cost: {
    feeLamports: BigInt(row.fee_lamports),
    rentPaidLamports: BigInt(row.rent_paid_lamports),
    rentReclaimedLamports: BigInt(row.rent_reclaimed_lamports),
  },
  dateCreated: row.date_created,
  dateUpdated: row.date_updated,
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

type Reads = Pick<BatchRepository, 'get' | 'current' | 'countByStatus'>;
type Changes = Omit<BatchRepository, keyof Reads | 'insert' | 'transition' | 'addCost'>;
type Writes = Pick<BatchRepository, 'insert' | 'transition' | 'addCost'>;

const reads = (session: Session): Reads => ({
  async get(id) {
    const row = await selectBatches(session).where('batches.id', '=', id).executeTakeFirst();
    return row && toRecord(row);
  },

  async current(tokenId) {
    const row = await selectBatches(session)
      .where('batches.token_id', '=', tokenId)
      .where('batches.status', 'in', OPEN)
      .orderBy('batches.ordinal', 'desc')
      .limit(1)
      .executeTakeFirst();
    return row && toRecord(row);
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

const changes = (session: Session): Changes => ({
  setBatchIndex: (id, batchIndex, dateUpdated) =>
    update(session, id, { batch_index: toU64Text(batchIndex), date_updated: dateUpdated }),

  setInitResult: (id, initResult, dateUpdated) =>
    update(session, id, { init_result: JSON.stringify(initResult), date_updated: dateUpdated }),

  setApproval: (id, approvalTx, lastValidBlockHeight, dateUpdated) =>
    update(session, id, {
      approval_tx: approvalTx,
      approval_last_valid_block_height: toU64Text(lastValidBlockHeight),
      date_updated: dateUpdated,
    }),

  claim: (id, instance, leaseUntilMs) => update(session, id, { instance, lease_until_ms: leaseUntilMs }),

  unclaim: (id) => update(session, id, { instance: null, lease_until_ms: 0 }),
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
  ...changes(session),
  ...writes(session),
});
