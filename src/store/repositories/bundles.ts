/** Bundles of a batch with their signed transactions. */
import type { Selectable } from 'kysely';
import type { Sha256 } from '../../values/digest.js';
import { toU64Text } from '../column-values.js';
import type { BundlePhase, BundleRecord, BundleTransaction } from '../records.js';
import { expectAffected, insertRows, type Session, takeNumbers } from '../session.js';
import type { BundleRepository } from '../store.js';
import type { BundleTable } from '../tables.js';

/** In the order in which a batch goes through them. */
const PHASES: readonly BundlePhase[] = [
  'SETUP',
  'OWNER_APPROVAL',
  'OPERATOR_APPROVAL',
  'EXECUTE',
  'CANCEL',
  'CLOSE',
];

const toRecord = (
  row: Selectable<BundleTable>,
  transactions: readonly BundleTransaction[],
): BundleRecord => ({
  id: row.id,
  batchId: row.batch_id,
  phase: row.phase,
  first: row.first_transaction,
  bundleId: row.bundle_id as Sha256,
  transactions: transactions.map(({ signature, bytes }) => ({ signature, bytes })),
  lastValidBlockHeight: BigInt(row.last_valid_block_height),
  status: row.status,
  errorMessage: row.error_message,
  failedTransaction: row.failed_transaction,
});

const toRow = (bundle: BundleRecord, sequence: number) => ({
  id: bundle.id,
  sequence,
  batch_id: bundle.batchId,
  phase: bundle.phase,
  first_transaction: bundle.first,
  bundle_id: bundle.bundleId,
  last_valid_block_height: toU64Text(bundle.lastValidBlockHeight),
  status: bundle.status,
  error_message: bundle.errorMessage,
  failed_transaction: bundle.failedTransaction,
});

const transactionRows = (bundle: BundleRecord) =>
  bundle.transactions.map(({ signature, bytes }, position) => ({
    ...{ bundle_id: bundle.id, position, signature, bytes },
  }));

async function readTransactions(
  { db }: Session,
  batchId: string,
  phases: readonly BundlePhase[],
): Promise<Map<string, BundleTransaction[]>> {
  const rows = await db
    .selectFrom('bundles')
    .innerJoin('bundle_transactions', 'bundle_transactions.bundle_id', 'bundles.id')
    .selectAll('bundle_transactions')
    .where('bundles.batch_id', '=', batchId)
    .where('bundles.phase', 'in', phases)
    .where('bundles.status', '<>', 'EXPIRED')
    .orderBy('bundle_transactions.bundle_id')
    .orderBy('bundle_transactions.position')
    .execute();
  const byBundle = new Map<string, (BundleTransaction & { position: number })[]>();
  for (const { bundle_id, position, signature, bytes } of rows) {
    const transactions = byBundle.get(bundle_id) ?? [];
    transactions.push({ position, signature, bytes });
    byBundle.set(bundle_id, transactions);
  }
  return byBundle;
}

export const bundleRepository = (session: Session): BundleRepository => ({
  async insertMany(bundles) {
    if (bundles.length === 0) return;
    const first = await takeNumbers(session, 'bundle', bundles.length);
    const rows = bundles.map((bundle, index) => toRow(bundle, first + index));
    await insertRows(session, 'bundles', rows, (piece) =>
      session.db.insertInto('bundles').values(piece).compile(),
    );
    await insertRows(session, 'bundle_transactions', bundles.flatMap(transactionRows), (piece) =>
      session.db.insertInto('bundle_transactions').values(piece).compile(),
    );
  },

  async ofBatch(batchId, phases = PHASES) {
    const rows = await session.db
      .selectFrom('bundles')
      .selectAll()
      .where('batch_id', '=', batchId)
      .where('phase', 'in', phases)
      .where('status', '<>', 'EXPIRED')
      .orderBy('first_transaction')
      .orderBy('sequence')
      .execute();
    const transactions = await readTransactions(session, batchId, phases);
    // The sort is stable, so within a phase the order of the query stays.
    return rows
      .map((row) => toRecord(row, transactions.get(row.id) ?? []))
      .sort((a, b) => PHASES.indexOf(a.phase) - PHASES.indexOf(b.phase));
  },

  async settle(ids, { status, errorMessage = null, failedTransaction = null }) {
    if (ids.length === 0) return;
    const { numUpdatedRows } = await session.db
      .updateTable('bundles')
      .set({ status, error_message: errorMessage, failed_transaction: failedTransaction })
      .where('id', 'in', ids)
      .where('status', '=', 'PENDING')
      .executeTakeFirst();
    expectAffected(numUpdatedRows, ids.length, `Not all of these bundles are pending: ${ids.join(', ')}.`);
  },
});
