/** Batches, the votes issued for them, and their bundles: the signed steps of a batch. */
import { sql } from 'kysely';
import type { BatchCost } from '../../contract/call.js';
import type { BatchStatus, ExecuteResult, InitResult } from '../../contract/schemas/batch.js';
import { invariant } from '../../errors/flywheel-error.js';
import { piecesOf } from '../../values/pieces.js';
import type {
  BatchHead,
  BatchRecord,
  BundlePhase,
  BundleRecord,
  BundleTransaction,
  IssuedVote,
  StoredAction,
  TransactionCost,
} from '../records.js';
import { type Row, TABLES } from '../schema.js';
import { columnsBut, given, insertAll, leasesOf, type StoreSession, tableOf } from '../session.js';
import { type Listed, listed, type Page } from './pages.js';
import { type PipelineFilter, pipelineConditions, pipelineRepository } from './pipelines.js';
import { requestsOf } from './requests.js';

/** Every allowed status transition (service specification, section 3). */
export const BATCH_TRANSITIONS: readonly (readonly [BatchStatus, BatchStatus])[] = [
  ['AVAILABLE_TO_QUEUE', 'FINALIZED'],
  // Cancelled before its set-up was complete.
  ['AVAILABLE_TO_QUEUE', 'FAILED'],
  ['FINALIZED', 'EXECUTED'],
  ['FINALIZED', 'FAILED'],
  // Members executed more of it, or it was cancelled.
  ['FAILED', 'FAILED'],
  ['FAILED', 'EXECUTED'],
];

export interface BatchFilter extends Page {
  readonly status?: BatchStatus | undefined;
  /** One of its transactions has this signature. */
  readonly txHash?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Each condition must match some pipeline of the batch, not necessarily the same one. */
  readonly holds?: PipelineFilter;
}

export type ListedBatches = Listed<BatchHead>;

/** Literals, because a partial index serves only a condition that repeats its text. */
const OPEN = [sql.lit('AVAILABLE_TO_QUEUE' as const), sql.lit('FINALIZED' as const)];

const HEAD = columnsBut('batches', 'ordinal');

export const batchRepository = (session: StoreSession) => {
  const { db } = session;
  const batches = db.selectFrom('batches');
  const votes = tableOf(session, 'issuedVotes', 'ordinal', 'isOver');
  const pipelines = pipelineRepository(session);
  const { find, change } = tableOf(session, 'batches', 'ordinal');

  /** Also finds votes that the owner sent, and transactions of members. */
  const batchOf = (signature: string) =>
    db
      .selectFrom('bundleTransactions')
      .innerJoin('bundles', 'bundles.id', 'bundleTransactions.bundle')
      .select('bundles.batchId')
      .where('bundleTransactions.signature', '=', signature)
      .union(db.selectFrom('pipelines').select('batchId').where('signature', '=', signature))
      .union(db.selectFrom('batchCosts').select('batchId').where('signature', '=', signature));

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
      batches
        .select(HEAD)
        .where('tokenId', '=', tokenId)
        .where('status', 'in', OPEN)
        .orderBy('ordinal', 'desc')
        .limit(1)
        .executeTakeFirst(),

    /** Newest first. */
    async list(filter: BatchFilter): Promise<ListedBatches> {
      const { tokenId, status, txHash, idempotencyKey, holds = {} } = filter;
      // These filters have an index, so the number of rows need not be bounded.
      const isFound = [txHash, idempotencyKey, holds.proofHashes].some((one) => one !== undefined);
      const conditions = [
        ...given(status, (one) => sql`status = ${one}`),
        ...given(txHash, (one) => sql`id in (${batchOf(one)})`),
        ...Object.entries(holds).flatMap(([name, one]) => given(one, () => holding({ [name]: one }))),
        ...given(idempotencyKey, (key) => sql`request_id in (${requestsOf(session, tokenId, key)})`),
      ];
      return listed(session, 'batches', filter, conditions, !isFound);
    },

    async idAt(ordinal: number): Promise<string> {
      return (await batches.select('id').where('ordinal', '=', ordinal).executeTakeFirstOrThrow()).id;
    },

    /** `undefined` if the batch is not of this token. */
    async ordinalOf(tokenId: string, id: string): Promise<number | undefined> {
      const found = batches.select('ordinal').where('id', '=', id).where('tokenId', '=', tokenId);
      return (await found.executeTakeFirst())?.ordinal;
    },

    /** Rent of the flywheel's batches that are not closed. @param since - only those being set up, or updated at or after this time */
    async rentLamports(flywheelId: string, since?: string): Promise<bigint> {
      const open = batches
        .select('setupRentLamports')
        .where('flywheelId', '=', flywheelId)
        .where('dateClosed', 'is', null)
        .where((eb) =>
          eb.and(
            given(since, (date) =>
              eb.or([eb('status', '=', 'AVAILABLE_TO_QUEUE'), eb('dateUpdated', '>=', date)]),
            ),
          ),
        );
      return (await open.execute()).reduce((sum, one) => sum + one.setupRentLamports, 0n);
    },

    async countByStatus(): Promise<Readonly<Record<BatchStatus, number>>> {
      const counts = { AVAILABLE_TO_QUEUE: 0, FINALIZED: 0, EXECUTED: 0, FAILED: 0 };
      const rows = await batches
        .select(({ fn }) => ['status', fn.countAll().as('count')])
        .groupBy('status')
        .execute();
      for (const { status, count } of rows) counts[status] = Number(count);
      return counts;
    },

    change: (id: string, to: Partial<Omit<Row<'batches'>, 'status'>>): Promise<void> => change({ id }, to),

    /** @throws `ERR_INTERNAL` for a transition that is not in {@link BATCH_TRANSITIONS} */
    async transition(
      id: string,
      to: BatchStatus,
      result: { initResult?: InitResult; executeResult?: ExecuteResult },
      dateUpdated: string,
    ): Promise<void> {
      const from = BATCH_TRANSITIONS.filter(([, target]) => target === to).map(([source]) => source);
      invariant(from.length > 0, `No batch can become ${to}.`);
      const { numUpdatedRows } = await db
        .updateTable('batches')
        .set({ status: to, dateUpdated, ...result })
        .where('id', '=', id)
        .where('status', 'in', from)
        .executeTakeFirst();
      invariant(numUpdatedRows === 1n, `Batch ${id} cannot become ${to} from the status it has.`);
    },

    /** Each transaction's cost is stored once, however often it is reported. */
    async addCosts(batchId: string, costs: readonly TransactionCost[]): Promise<void> {
      const rows = costs.map((cost) => ({ ...cost, batchId }));
      await insertAll(session, 'batchCosts', rows, { mayBeThere: true });
    },

    async cost(id: string): Promise<BatchCost> {
      const sum = (name: keyof BatchCost) =>
        sql<number>`coalesce(cast(sum(${sql.ref(name)}) as bigint), 0)`.as(name);
      const sums = [sum('operatorLamports'), sum('vaultLamports')] as const;
      const costs = db.selectFrom('batchCosts').where('batchId', '=', id);
      const { operatorLamports, vaultLamports } = await costs.select(sums).executeTakeFirstOrThrow();
      return { operatorLamports: BigInt(operatorLamports), vaultLamports: BigInt(vaultLamports) };
    },

    ...leasesOf(session, 'batches'),

    /** A no-op for a vote that was issued before: with the same blockhash, the same vote has the same bytes. */
    addVote: async (vote: IssuedVote): Promise<void> =>
      void (await insertAll(session, 'issuedVotes', [{ ...vote, isOver: false }], { mayBeThere: true })),

    votes: (batchId: string): Promise<readonly IssuedVote[]> => votes.list({ batchId }, 'order by ordinal'),

    /** Votes that may still land, or whose landing is not recorded yet; of one project or of all. */
    openVotes: (tokenId: string | null): Promise<readonly IssuedVote[]> =>
      db
        .selectFrom('issuedVotes')
        .select(columnsBut('issuedVotes', 'ordinal', 'isOver'))
        .where(sql<boolean>`is_over = 0 and (cast(${tokenId} as text) is null
          or batch_id in (select id from batches where token_id = ${tokenId}))`)
        .execute(),

    /** These votes can no longer land, and the costs of landed ones are stored. */
    async endVotes(signatures: readonly string[]): Promise<void> {
      for (const piece of piecesOf(signatures))
        await db.updateTable('issuedVotes').set({ isOver: true }).where('signature', 'in', piece).execute();
    },
  };
};

/** In the order in which a batch goes through them. */
const PHASES = TABLES.bundles.columns.phase.values as readonly BundlePhase[];

export const bundleRepository = (session: StoreSession) => {
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
     * Ordered by phase and first transaction, without expired bundles.
     * @param phases - limits what is read: a batch may have thousands of signed transactions. @default all
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
      // The sort is stable: within a phase the query's order stays.
      return found
        .map((bundle) => ({ ...bundle, transactions: byBundle.get(bundle.id) ?? [] }))
        .sort((a, b) => PHASES.indexOf(a.phase) - PHASES.indexOf(b.phase));
    },

    /** Gives all these pending bundles the same outcome. @throws `ERR_INTERNAL` unless every one is pending */
    async settle(
      ids: readonly string[],
      outcome: Pick<BundleRecord, 'status'> &
        Partial<Pick<BundleRecord, 'errorMessage' | 'failedTransaction'>>,
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
