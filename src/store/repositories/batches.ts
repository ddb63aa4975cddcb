/** Batches, the votes issued for them, and their bundles: the signed steps of a batch. */
import { sql } from 'kysely';
import type { BatchCost } from '../../contract/call.js';
import type { BatchStatus, ExecuteResult, InitResult } from '../../contract/schemas/batch.js';
import { invariant } from '../../errors/flywheel-error.js';
import type {
  BatchHead,
  BatchRecord,
  BundleRecord,
  IssuedVote,
  StoredAction,
  TransactionCost,
} from '../records.js';
import type { Row } from '../schema.js';
import { given, insertAll, leasesOf, type StoreSession, tableOf } from '../session.js';
import { isOfKey, type Listed, listed, type Page } from './pages.js';
import { type PipelineFilter, pipelineConditions, pipelineRepository } from './pipelines.js';

/** Every allowed status transition (service specification, section 3). */
const BATCH_TRANSITIONS: readonly (readonly [BatchStatus, BatchStatus])[] = [
  ['AVAILABLE_TO_QUEUE', 'FINALIZED'],
  // Cancelled before its set-up was complete.
  ['AVAILABLE_TO_QUEUE', 'FAILED'],
  ['FINALIZED', 'EXECUTED'],
  ['FINALIZED', 'FAILED'],
  // Members executed more of it, or it was cancelled.
  ['FAILED', 'FAILED'],
  ['FAILED', 'EXECUTED'],
];

type BatchFilter = Page & {
  readonly status?: BatchStatus | undefined;
  /** One of its transactions has this signature. */
  readonly txHash?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Each condition must match some pipeline of the batch, not necessarily the same one. */
  readonly holds?: PipelineFilter;
};

export const batchRepository = (session: StoreSession) => {
  const { db } = session;
  const votes = tableOf(session, 'issuedVotes', 'ordinal', 'isOver');
  const costs = tableOf(session, 'batchCosts', 'batchId');
  const pipelines = pipelineRepository(session);
  const { find, list, change, changes } = tableOf(session, 'batches', 'ordinal');

  /** Also finds votes that the owner sent, and transactions of members. */
  const batchOf = (signature: string) => sql`
    select batch_id from batch_transactions where signature = ${signature}
    union select batch_id from pipelines where signature = ${signature}
    union select batch_id from batch_costs where signature = ${signature}`;

  const holding = (filter: PipelineFilter) => {
    const conditions = sql.join(pipelineConditions(filter), sql` and `);
    return filter.proofHashes === undefined
      ? sql<boolean>`exists (select 1 from pipelines where pipelines.batch_id = batches.id and ${conditions})`
      : sql<boolean>`batches.id in (select pipelines.batch_id from pipelines where ${conditions})`;
  };

  return {
    async insert(
      request: { readonly id: string; readonly tokenId: string },
      { pipelines: planned, ...batch }: Omit<BatchRecord, 'status' | 'requestId' | 'tokenId'>,
      actions: readonly (readonly StoredAction[])[],
    ): Promise<void> {
      const { id: requestId, tokenId } = request;
      const status = 'AVAILABLE_TO_QUEUE';
      await insertAll(session, 'batches', [{ ...batch, requestId, tokenId, status }]);
      await pipelines.insert({ id: batch.id, tokenId }, planned, actions);
    },

    find,

    /** With its pipelines, which may be large. */
    async get(id: string): Promise<BatchRecord | undefined> {
      const head = await find({ id });
      return head && { ...head, pipelines: await pipelines.ofBatch(id) };
    },

    /** The token's newest batch that is AVAILABLE_TO_QUEUE or FINALIZED. */
    current: (tokenId: string): Promise<BatchHead | undefined> =>
      find({ tokenId, status: ['AVAILABLE_TO_QUEUE', 'FINALIZED'] }, sql`order by ordinal desc`),

    /** Newest first. */
    async list(filter: BatchFilter): Promise<Listed<BatchHead>> {
      const { tokenId, status, txHash, idempotencyKey, holds = {} } = filter;
      // These filters have an index, so the number of rows need not be bounded.
      const isFound = [txHash, idempotencyKey, holds.proofHashes].some((one) => one !== undefined);
      const conditions = [
        ...given(status, (one) => sql`status = ${one}`),
        ...given(txHash, (one) => sql`id in (${batchOf(one)})`),
        ...Object.entries(holds).flatMap(([name, one]) => given(one, () => holding({ [name]: one }))),
        ...given(idempotencyKey, (key) => isOfKey(tokenId, key)),
      ];
      return listed(session, 'batches', filter, conditions, !isFound);
    },

    /** `undefined` if the batch is not of this token. */
    ordinalOf: async (tokenId: string, id: string): Promise<number | undefined> =>
      (await tableOf(session, 'batches').find({ id, tokenId }))?.ordinal,

    /** Rent of the project's batches that are not closed. @param since - only those being set up, or updated at or after this time */
    async rentLamports(tokenId: string, since = ''): Promise<bigint> {
      const isUnpaid = sql`and (status = 'AVAILABLE_TO_QUEUE' or date_updated >= ${since})`;
      const open = await list({ tokenId, dateClosed: null }, isUnpaid);
      return open.reduce((sum, one) => sum + one.setupRentLamports, 0n);
    },

    async countByStatus(): Promise<Readonly<Record<BatchStatus, number>>> {
      const { rows } = await sql<{ status: BatchStatus; count: number }>`
        select status, count(*) as count from batches group by status`.execute(db);
      const counts = rows.map(({ status, count }) => [status, Number(count)]);
      return { AVAILABLE_TO_QUEUE: 0, FINALIZED: 0, EXECUTED: 0, FAILED: 0, ...Object.fromEntries(counts) };
    },

    change: (id: string, to: Partial<Omit<Row<'batches'>, 'status'>>): Promise<void> => change({ id }, to),

    /** @throws `ERR_INTERNAL` for a transition that is not in {@link BATCH_TRANSITIONS} */
    async transition(
      id: string,
      to: BatchStatus,
      result: { initResult?: InitResult; executeResult?: ExecuteResult },
      dateUpdated: string,
    ): Promise<void> {
      const status = BATCH_TRANSITIONS.flatMap(([from, target]) => (target === to ? from : []));
      const isDone = await changes({ id, status }, { status: to, dateUpdated, ...result });
      invariant(isDone, `Batch ${id} cannot become ${to} from the status it has.`);
    },

    /** Each transaction's cost is stored once, however often it is reported. */
    async addCosts(batchId: string, reported: readonly TransactionCost[]): Promise<void> {
      const rows = reported.map((cost) => ({ ...cost, batchId }));
      await insertAll(session, 'batchCosts', rows, { mayBeThere: true });
    },

    async cost(batchId: string): Promise<BatchCost> {
      const all = await costs.list({ batchId });
      const sum = (name: keyof BatchCost) => BigInt(all.reduce((total, cost) => total + cost[name], 0));
      return { operatorLamports: sum('operatorLamports'), vaultLamports: sum('vaultLamports') };
    },

    ...leasesOf(session, 'batches'),

    /** A no-op for a vote that was issued before: with the same blockhash, the same vote has the same bytes. */
    addVote: async (vote: IssuedVote): Promise<void> =>
      void (await insertAll(session, 'issuedVotes', [{ ...vote, isOver: false }], { mayBeThere: true })),

    votes: (batchId: string): Promise<readonly IssuedVote[]> =>
      votes.list({ batchId }, sql`order by ordinal`),

    /** Votes that may still land, or whose landing is not recorded yet. @param tokenId - @default all projects */
    openVotes: (tokenId?: string): Promise<readonly IssuedVote[]> =>
      votes.list(
        {},
        sql`and is_over = 0 and ${tokenId === undefined ? sql`true` : sql`batch_id in (select id from batches where token_id = ${tokenId})`}`,
      ),

    /** These votes can no longer land, and the costs of landed ones are stored. */
    endVotes: (signature: readonly string[]): Promise<number> =>
      votes.changeAll({ signature }, { isOver: true }),
  };
};

const NO_END = { errorMessage: null, failedTransaction: null };

export const bundleRepository = (session: StoreSession) => {
  const steps = tableOf(session, 'batchTransactions');
  return {
    insertMany: async (bundles: readonly BundleRecord[]): Promise<void> =>
      void (await insertAll(
        session,
        'batchTransactions',
        bundles.flatMap(({ transactions, errorMessage: _, ...bundle }) =>
          transactions.map((one, position) => ({ ...bundle, ...one, position })),
        ),
      )),

    /** Ordered by first transaction, without expired bundles. */
    async ofBatch(batchId: string): Promise<readonly BundleRecord[]> {
      const status = ['PENDING', 'LANDED', 'FAILED'] as const;
      const bundles = new Map<string, BundleRecord>();
      const rows = await steps.list({ batchId, status }, sql`order by first, position`);
      for (const { signature, bytes, position, errorMessage, ...row } of rows) {
        const bundle = bundles.get(row.bundleId) ?? { ...row, ...NO_END, transactions: [] };
        const hasFailed = errorMessage !== null;
        bundles.set(row.bundleId, {
          ...bundle,
          transactions: [...bundle.transactions, { signature, bytes }],
          ...(hasFailed && { errorMessage, failedTransaction: position }),
        });
      }
      return [...bundles.values()];
    },

    /** Stores the outcomes of pending bundles. @throws `ERR_INTERNAL` unless every one is pending */
    async settle(bundles: readonly BundleRecord[]): Promise<void> {
      for (const status of ['LANDED', 'FAILED', 'EXPIRED'] as const) {
        const ended = bundles.filter((bundle) => bundle.status === status);
        if (ended.length === 0) continue;
        const signature = ended.flatMap((one) =>
          one.transactions.map((transaction) => transaction.signature),
        );
        const settled = await steps.changeAll({ signature, status: 'PENDING' }, { status });
        invariant(settled === signature.length, `Not all bundles are pending that are now ${status}.`);
      }
      for (const { transactions, failedTransaction, errorMessage } of bundles) {
        const failed = transactions[failedTransaction ?? -1];
        if (failed !== undefined) await steps.change({ signature: failed.signature }, { errorMessage });
      }
    },
  };
};
