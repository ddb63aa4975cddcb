/** Bundles of a batch with their signed transactions. */
import { invariant } from '../../errors/flywheel-error.js';
import type { BundlePhase, BundleRecord, BundleStatus, BundleTransaction } from '../records.js';
import { TABLES } from '../schema.js';
import { columnsBut, insertAll, type Session } from '../session.js';

/** In the order in which a batch goes through them. */
const PHASES = TABLES.bundles.columns.phase.values as readonly BundlePhase[];

export const bundleRepository = (session: Session) => {
  const { db } = session;
  return {
    async insertMany(bundles: readonly BundleRecord[]): Promise<void> {
      await insertAll(session, 'bundles', bundles);
      const transactions = bundles.flatMap(({ id, transactions: own }) =>
        own.map((transaction, position) => ({ ...transaction, bundle: id, position })),
      );
      await insertAll(session, 'bundleTransactions', transactions);
    },

    /**
     * In the order of phase and first transaction; expired ones are left out.
     * @param phases - only of these: a batch has up to thousands of signed transactions. @default all
     */
    async ofBatch(
      batchId: string,
      phases: readonly BundlePhase[] = PHASES,
    ): Promise<readonly BundleRecord[]> {
      const bundles = db
        .selectFrom('bundles')
        .where('batchId', '=', batchId)
        .where('phase', 'in', phases)
        .where('status', '<>', 'EXPIRED');
      const found = await bundles
        .select(columnsBut('bundles', 'ordinal'))
        .orderBy('first')
        .orderBy('ordinal')
        .execute();
      const transactions = await bundles
        .innerJoin('bundleTransactions', 'bundleTransactions.bundle', 'bundles.id')
        .select(['bundle', 'signature', 'bytes'])
        .orderBy('bundle')
        .orderBy('position')
        .execute();
      const byBundle = new Map<string, BundleTransaction[]>();
      for (const { bundle, ...transaction } of transactions)
        byBundle.set(bundle, [...(byBundle.get(bundle) ?? []), transaction]);
      // The sort is stable, so within a phase the order of the query stays.
      return found
        .map((bundle) => ({ ...bundle, transactions: byBundle.get(bundle.id) ?? [] }))
        .sort((a, b) => PHASES.indexOf(a.phase) - PHASES.indexOf(b.phase));
    },

    /** Writes how pending bundles ended, all of them alike. */
    async settle(
      ids: readonly string[],
      outcome: { status: BundleStatus; errorMessage?: string; failedTransaction?: number },
    ): Promise<void> {
      if (ids.length === 0) return;
      const { status, errorMessage = null, failedTransaction = null } = outcome;
      const { numUpdatedRows } = await db
        .updateTable('bundles')
        .set({ status, errorMessage, failedTransaction })
        .where('id', 'in', ids)
        .where('status', '=', 'PENDING')
        .executeTakeFirst();
      invariant(
        numUpdatedRows === BigInt(ids.length),
        `Not all of these bundles are pending: ${ids.join(', ')}.`,
      );
    },
  };
};
