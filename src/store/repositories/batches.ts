/** Batches, the votes on them, and their bundles: the steps of a batch that were signed. */
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
  BundleStatus,
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

/** Every move that a batch may make (service specification, section 3). */
export const BATCH_TRANSITIONS: readonly (readonly [BatchStatus, BatchStatus])[] = [
  ['AVAILABLE_TO_QUEUE', 'FINALIZED'],
  // Cancelled before its set-up was complete.
  ['AVAILABLE_TO_QUEUE', 'FAILED'],
  ['FINALIZED', 'EXECUTED'],
  ['FINALIZED', 'FAILED'],
  // Members have executed more of it since, or it is cancelled.
  ['FAILED', 'FAILED'],
  ['FAILED', 'EXECUTED'],
];

export interface BatchFilter extends Page {
  readonly status?: BatchStatus | undefined;
  /** Some transaction of its has this signature. */
  readonly txHash?: string | undefined;
  /** Its request had this key. */
  readonly idempotencyKey?: string | undefined;
  /** What its pipelines hold, each of these somewhere among them. */
  readonly holds?: PipelineFilter;
}

export type ListedBatches = Listed<BatchHead>;

/** Not final; written out, because a partial index serves only a condition that is. */
const OPEN = [sql.lit('AVAILABLE_TO_QUEUE' as const), sql.lit('FINALIZED' as const)];

const HEAD = columnsBut('batches', 'ordinal');

export const batchRepository = (session: StoreSession) => {
  const { db } = session;
  const batches = db.selectFrom('batches');
  const votes = db.selectFrom('issuedVotes').select(columnsBut('issuedVotes', 'ordinal', 'isOver'));
  const pipelines = pipelineRepository(session);
  const { find, change } = tableOf(session, 'batches', 'ordinal');

  /** Also of a vote that the owner has sent, and of a transaction of members. */
  const batchOf = (signature: string) =>
    db
      .selectFrom('bundleTransactions')
      .innerJoin('bundles', 'bundles.id', 'bundleTransactions.bundle')
      .select('bundles.batchId')
      .where('bundleTransactions.signature', '=', signature)
      .union(db.selectFrom('pipelines').select('batchId').where('signature', '=', signature))
      .union(db.selectFrom('batchCosts').select('batchId').where('signature', '=', signature));

  /** Of batches with a pipeline that meets one condition. */
  const holding = (filter: PipelineFilter) => {
    const conditions = sql.join(pipelineConditions(filter), sql` and `);
    return filter.proofHashes === undefined
      ? sql<boolean>`exists (select 1 from pipelines where pipelines.batch_id = batches.id and ${conditions})`
      : sql<boolean>`batches.id in (select pipelines.batch_id from pipelines where ${conditions})`;
  };

  return {
    /** A batch begins to wait for its set-up. It is of the project of its request. */
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

    /** Without what it is made of. */
    find,

    /** With its pipelines, which may be large. */
    async get(id: string): Promise<BatchRecord | undefined> {
      const head = await find({ id });
      return head && { ...head, pipelines: await pipelines.ofBatch(id) };
    },

    /** The newest batch of the token that is not final. */
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
      // These are found by an index, however many there are.
      const isFound = [txHash, idempotencyKey, holds.proofHashes].some((one) => one !== undefined);
      const conditions = [
        ...given(status, (one) => sql`status = ${one}`),
        ...given(txHash, (one) => sql`id in (${batchOf(one)})`),
        ...Object.entries(holds).flatMap(([name, one]) => given(one, () => holding({ [name]: one }))),
        ...given(idempotencyKey, (key) => sql`request_id in (${requestsOf(session, tokenId, key)})`),
      ];
      return listed(session, 'batches', filter, conditions, !isFound);
    },

    /** The id of the batch with an ordinal. */
    async idAt(ordinal: number): Promise<string> {
      return (await batches.select('id').where('ordinal', '=', ordinal).executeTakeFirstOrThrow()).id;
    },

    /** Its ordinal, if it is a batch of the token. */
    async ordinalOf(tokenId: string, id: string): Promise<number | undefined> {
      const found = batches.select('ordinal').where('id', '=', id).where('tokenId', '=', tokenId);
      return (await found.executeTakeFirst())?.ordinal;
    },

    /** Rent of all batches of the flywheel that are not closed. @param since - of those whose set-up is not complete, or was not then */
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

    /** Anything but its status. */
    change: (id: string, to: Partial<Omit<Row<'batches'>, 'status'>>): Promise<void> => change({ id }, to),

    /** @throws `ERR_INTERNAL` for a transition that is not in {@link BATCH_TRANSITIONS}. */
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

    /** What each transaction has changed: once, whoever tells it, and however often. */
    async addCosts(batchId: string, costs: readonly TransactionCost[]): Promise<void> {
      for (const piece of piecesOf(costs.map((cost) => ({ ...cost, batchId }))))
        await db
          .insertInto('batchCosts')
          .values(piece)
          .onConflict((conflict) => conflict.column('signature').doNothing())
          .execute();
    },

    /** What all its transactions have changed until now. */
    async cost(id: string): Promise<BatchCost> {
      const sum = (name: keyof BatchCost) =>
        sql<number>`coalesce(cast(sum(${sql.ref(name)}) as bigint), 0)`.as(name);
      const sums = [sum('operatorLamports'), sum('vaultLamports')] as const;
      const costs = db.selectFrom('batchCosts').where('batchId', '=', id);
      const { operatorLamports, vaultLamports } = await costs.select(sums).executeTakeFirstOrThrow();
      return { operatorLamports: BigInt(operatorLamports), vaultLamports: BigInt(vaultLamports) };
    },

    ...leasesOf(session, 'batches'),

    /** Does nothing for a transaction that was issued before: until the blockhash changes, the same vote is the same bytes. */
    addVote: async (vote: IssuedVote): Promise<void> =>
      void (await db
        .insertInto('issuedVotes')
        .values({ ...vote, isOver: false })
        .onConflict((conflict) => conflict.column('signature').doNothing())
        .execute()),

    /** In the order in which they were issued. */
    votes: (id: string): Promise<readonly IssuedVote[]> =>
      votes.where('batchId', '=', id).orderBy('ordinal').execute(),

    /** Those that may have landed since they were looked for, of one project or of all. */
    openVotes: (tokenId: string | null): Promise<readonly IssuedVote[]> =>
      votes
        .where(sql<boolean>`is_over = 0 and (cast(${tokenId} as text) is null
          or batch_id in (select id from batches where token_id = ${tokenId}))`)
        .execute(),

    /** No vote with one of these signatures lands any more. */
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
