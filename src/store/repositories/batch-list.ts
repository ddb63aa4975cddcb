/** Batches of a list: newest first, by what they are, what their pipelines hold and what they sent; few are looked at in one call. */
import { type Selectable, sql } from 'kysely';
import type { ExecuteResult, InitResult } from '../../contract/schemas/batch.js';
import type { UtcDay } from '../../values/time.js';
import { fromJsonOrNull } from '../column-values.js';
import type { Session } from '../session.js';
import type { BatchFilter, ListedBatch, ListedBatches, PipelineFilter } from '../store.js';
import type { BatchTable } from '../tables.js';

/** A batch from its row. */
export const toListed = (row: Selectable<BatchTable>): ListedBatch => ({
  id: row.id,
  flywheelId: row.flywheel_id,
  tokenId: row.token_id,
  keyId: row.key_id,
  requestId: row.request_id,
  status: row.status,
  batchIndex: BigInt(row.batch_index),
  day: row.day as UtcDay,
  initResult: fromJsonOrNull<InitResult>(row.init_result),
  executeResult: fromJsonOrNull<ExecuteResult>(row.execute_result),
  setupRentLamports: BigInt(row.setup_rent_lamports),
  instance: row.instance,
  leaseUntilMs: Number(row.lease_until_ms),
  cost: {
    feeLamports: BigInt(row.fee_lamports),
    rentPaidLamports: BigInt(row.rent_paid_lamports),
    rentReclaimedLamports: BigInt(row.rent_reclaimed_lamports),
  },
  dateCreated: row.date_created,
  dateUpdated: row.date_updated,
  dateCancelled: row.date_cancelled,
  dateClosed: row.date_closed,
});

/** Batches that one call looks at; where it reads their pipelines, of which each has up to 12 MB, some 50 ms. */
const MAX_LOOKED_AT = 10_000;
const MAX_PLANS_LOOKED_AT = 8;

/** The oldest that is looked at, or `undefined` when nothing is older than what is. */
async function oldestLookedAt({ db }: Session, filter: BatchFilter): Promise<number | undefined> {
  const { tokenId, before, holds, txHash } = filter;
  // A signature is found by an index, however many there are.
  if (txHash !== undefined) return undefined;
  let query = db
    .selectFrom('batches')
    .select('ordinal')
    .where('token_id', '=', tokenId)
    .orderBy('ordinal', 'desc')
    .offset((holds === undefined ? MAX_LOOKED_AT : MAX_PLANS_LOOKED_AT) - 1)
    .limit(1);
  if (before !== undefined) query = query.where('ordinal', '<', before);
  const row = await query.executeTakeFirst();
  return row && Number(row.ordinal);
}

/**
 * Fields as they stand in the JSON of the plan: text in it has its quotes escaped, so that they are found nowhere else, and only
 * a pipeline has a type, only an action a name.
 */
const fragments = (holds: PipelineFilter): readonly string[] =>
  Object.entries(holds).flatMap(([name, value]) =>
    value === undefined ? [] : [`${JSON.stringify(name)}:${JSON.stringify(value)}`],
  );

export async function listBatches(session: Session, filter: BatchFilter): Promise<ListedBatches> {
  const { tokenId, status, since, until, txHash, holds, before, limit } = filter;
  const oldest = await oldestLookedAt(session, filter);
  let query = session.db
    .selectFrom('batches')
    .selectAll('batches')
    .where('token_id', '=', tokenId)
    .orderBy('ordinal', 'desc')
    .limit(limit + 1);
  if (oldest !== undefined) query = query.where('ordinal', '>=', oldest);
  if (before !== undefined) query = query.where('ordinal', '<', before);
  if (status !== undefined) query = query.where('status', '=', status);
  if (since !== undefined) query = query.where('date_created', '>=', since);
  if (until !== undefined) query = query.where('date_created', '<', until);
  if (txHash !== undefined)
    query = query.where('id', 'in', (sub) =>
      sub
        .selectFrom('bundle_transactions')
        .innerJoin('bundles', 'bundles.id', 'bundle_transactions.bundle_id')
        .select('bundles.batch_id')
        .where('bundle_transactions.signature', '=', txHash),
    );
  for (const text of fragments(holds ?? {}))
    query = query.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('batch_plans')
          .select('batch_plans.batch_id')
          .whereRef('batch_plans.batch_id', '=', 'batches.id')
          .where(sql<boolean>`instr(batch_plans.pipelines, ${text}) > 0`),
      ),
    );
  const rows = await query.execute();
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1)?.ordinal : oldest;
  return { items: shown.map(toListed), next: last === undefined ? null : Number(last) };
}
