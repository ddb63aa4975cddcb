/**
 * The store: repositories inside one transaction, over either database.
 * Transactions that write the same project are serialized, within this process and across processes. Invariants are database
 * constraints or conditional updates: one record for (project, operation, idempotency value), unique signatures, one outcome for
 * each burn, and only the status transitions of `BATCH_TRANSITIONS`.
 */
import { type Expression, sql } from 'kysely';
import type { Sha256 } from '../values/digest.js';
import { utcDay } from '../values/time.js';
import type { RequestRecord } from './records.js';
import { batchRepository, bundleRepository } from './repositories/batches.js';
import { burnRepository, type Reserved, reservedOf, reserveQuery } from './repositories/burns.js';
import { gapRepository, lineageRepository, signatureRepository } from './repositories/gaps.js';
import { pipelineRepository } from './repositories/pipelines.js';
import {
  apiKeyRepository,
  auditRepository,
  type KeyWithProject,
  keyOf,
  keyQuery,
  projectRepository,
} from './repositories/registrations.js';
import { requestRepository, unfinishedRepository } from './repositories/requests.js';
import { rowRepository, ruleRepository } from './repositories/rows.js';
import { usageRepository } from './repositories/usage.js';
import type { Row } from './schema.js';
import type { StoreSession } from './session.js';

export interface Begun {
  /** The store's time at the start of the transaction, ms since the epoch: the clock for leases, days and dates. */
  readonly nowMs: number;
  /** Identifies the copy of the data: it changes when the database restarts or an older copy replaces it. */
  readonly copy: string;
  /** The copy's line of history: a restore, a copy or a failover changes it, a restart does not. */
  readonly lineage: string;
}

const repositoriesOf = (session: StoreSession) => ({
  projects: projectRepository(session),
  apiKeys: apiKeyRepository(session),
  requests: requestRepository(session),
  burns: burnRepository(session),
  usage: usageRepository(session),
  batches: batchRepository(session),
  pipelines: pipelineRepository(session),
  bundles: bundleRepository(session),
  signatures: signatureRepository(session),
  lineages: lineageRepository(session),
  unfinished: unfinishedRepository(session),
  audit: auditRepository(session),
  gaps: gapRepository(session),
  rows: rowRepository(session),
  rules: ruleRepository(session),
});

export interface StoreTransaction extends Begun, ReturnType<typeof repositoriesOf> {
  /** Runs `act` after the commit; never after a rollback. */
  whenCommitted(act: () => void): void;
}

interface OfProject {
  /** `null`: rows of several projects, each locked by itself. */
  readonly tokenId: string | null;
}

/** The ledger that the store is bound to, and the newest block known at a write. */
type StoreProgress = Pick<Row<'progress'>, 'genesis' | 'ledgerMark'>;

export interface Store {
  /** Of this process's last transaction. */
  readonly copy: string;
  /** Of this process's last transaction. */
  readonly lineage: string;
  /** An upper bound of the store's time, without a query; for dates, and to decide whether something may have expired. */
  latestMs(): number;
  progress(): Promise<StoreProgress>;
  /**
   * Runs `work` in one transaction that takes a write lock at its start. It commits when `work` resolves and rolls back when it throws.
   * @param of - the project to write; other projects may be written at the same time. Without it the transaction locks the whole store.
   * @throws `ERR_STORE_UNAVAILABLE` if the store is locked too long, read-only, full or damaged: nothing was changed; or if the connection
   *  was lost during the commit: its outcome is unknown
   */
  transaction<Result>(work: (tx: StoreTransaction) => Promise<Result>, of?: OfProject): Promise<Result>;
  /** Reads a consistent snapshot without the write lock. */
  read<Result>(work: (tx: StoreTransaction) => Promise<Result>): Promise<Result>;
  /**
   * A key with its project, and the store's time, in one statement: every API call needs it.
   * @param asked - a request to look up with it
   */
  findKey(
    hash: Sha256,
    asked?: Partial<Pick<RequestRecord, 'operation' | 'value'>>,
  ): Promise<(KeyWithProject & Pick<Begun, 'nowMs'>) | undefined>;
  /**
   * The room for new burns, and sequence numbers for them. The room is not reserved: check it again in the transaction that inserts.
   * On PostgreSQL this is one statement that waits for no lock.
   * @param count - how many numbers
   */
  reserve(tokenId: string, count: number): Promise<Reserved>;
  /** Waits for running transactions. */
  close(): Promise<void>;
}

interface Asked<Found> {
  readonly row: Partial<Found>;
  readonly begun: Begun;
}

/** What a database implements for {@link createStore}. */
interface Transactions {
  write<Result>(
    work: (session: StoreSession, begun: Begun) => Promise<Result>,
    of: OfProject | undefined,
  ): Promise<Result>;
  read<Result>(work: (session: StoreSession, begun: Begun) => Promise<Result>): Promise<Result>;
  /**
   * Runs one query; its columns are missing from `row` if it found nothing. @default a query in `read`
   * @param how - whether the query takes sequence numbers
   */
  readonly ask?: <Found>(
    query: Expression<Found>,
    how?: { readonly takes: boolean },
  ) => Promise<Asked<Found>>;
  latestMs(): number;
  /** Starts no more transactions. @param ended - resolves when the running ones have ended */
  close(ended: Promise<unknown>): Promise<void>;
}

export function createStore(transactions: Transactions): Store {
  const running = new Set<Promise<unknown>>();
  let latest = { copy: '', lineage: '' };

  const run = async <Result>(transaction: Promise<Result>): Promise<Result> => {
    running.add(transaction);
    try {
      return await transaction;
    } finally {
      running.delete(transaction);
    }
  };
  const over = (session: StoreSession, begun: Begun, acts: (() => void)[] = []): StoreTransaction => {
    latest = begun;
    return { ...begun, ...repositoriesOf(session), whenCommitted: (act) => void acts.push(act) };
  };
  const read: Store['read'] = (work) =>
    run(transactions.read((session, begun) => work(over(session, begun))));
  const ask: NonNullable<Transactions['ask']> =
    transactions.ask ??
    ((query) =>
      transactions.read(async ({ db }, begun) => {
        const { rows } = await sql<object>`select * from (${query}) as found`.execute(db);
        return { row: rows[0] ?? {}, begun };
      }));

  return {
    get copy() {
      return latest.copy;
    },
    get lineage() {
      return latest.lineage;
    },
    latestMs: () => transactions.latestMs(),
    progress: () => read(({ lineages }) => lineages.progress()),
    async transaction(work, of) {
      const acts: (() => void)[] = [];
      const result = await run(transactions.write((session, begun) => work(over(session, begun, acts)), of));
      for (const act of acts) act();
      return result;
    },
    read,
    async findKey(hash, asked = {}) {
      const { row, begun } = await run(ask(keyQuery(hash, asked)));
      latest = begun;
      const found = keyOf(row);
      return found && { ...found, nowMs: begun.nowMs };
    },
    async reserve(tokenId, count) {
      if (transactions.ask === undefined)
        return this.transaction(
          async ({ burns, nowMs }) => ({
            ...(await burns.room(tokenId, utcDay(nowMs))),
            sequences: await burns.nextInFile(count),
          }),
          { tokenId },
        );
      const { row, begun } = await run(transactions.ask(reserveQuery(tokenId, count), { takes: true }));
      latest = begun;
      return reservedOf(row);
    },
    close: () => transactions.close(Promise.allSettled(running)),
  };
}
