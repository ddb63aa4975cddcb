/**
 * The store: repositories inside one transaction, over either database.
 *
 * A transaction is serialised with every other one that writes the same project, in this process and in others. Invariants are
 * constraints of the database, or updates that change a row only as it was expected: one record for (key, operation,
 * idempotency value), signatures unique, nothing settled twice, no status transition that `BATCH_TRANSITIONS` does not name.
 */
import { type Expression, type Kysely, sql } from 'kysely';
import { FlywheelError } from '../errors/flywheel-error.js';
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
  flywheelRepository,
  type KeyWithProject,
  keyOf,
  keyQuery,
  tokenRepository,
} from './repositories/registrations.js';
import { requestRepository, unfinishedRepository } from './repositories/requests.js';
import { rowRepository, ruleRepository } from './repositories/rows.js';
import { usageRepository } from './repositories/usage.js';
import type { Row, Tables } from './schema.js';
import type { StoreSession } from './session.js';

/** What is known when a transaction has begun. */
export interface Begun {
  /** The store's time when the transaction began, in milliseconds since the Unix epoch: the clock that counts for leases, days and dates. */
  readonly nowMs: number;
  /** Which copy of the data it is on: another one after the database was restarted, or replaced by an older copy. */
  readonly copy: string;
  /** The line of history of that copy: it changes when the database is restored, copied or fails over; a restart keeps it. */
  readonly lineage: string;
}

const repositoriesOf = (session: StoreSession) => ({
  tokens: tokenRepository(session),
  flywheels: flywheelRepository(session),
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

/** @param acts - to be done once it is committed. */
export const transactionOver = (
  session: StoreSession,
  begun: Begun,
  acts: (() => void)[] = [],
): StoreTransaction => ({
  ...begun,
  ...repositoriesOf(session),
  whenCommitted: (act) => void acts.push(act),
});

export interface StoreTransaction extends Begun, ReturnType<typeof repositoriesOf> {
  /** Has something done or said once what is written is committed; where it is rolled back, never. */
  whenCommitted(act: () => void): void;
}

interface OfProject {
  /** `null`: rows of several, each taken by itself and only where nobody else has it. */
  readonly tokenId: string | null;
}

/** How far the store has come, and what it knows of its ledger. */
type StoreProgress = Pick<Row<'progress'>, 'genesis' | 'ledgerMark'>;

export interface Store {
  /** That of the last transaction of this process. */
  readonly copy: string;
  /** That of the last transaction of this process. */
  readonly lineage: string;
  /** What the store's clock says now at the latest, told without asking it; good for dates, and to judge whether something may be over. */
  latestMs(): number;
  progress(): Promise<StoreProgress>;
  /** Binds the store to a ledger, once. @throws `ERR_INTERNAL` when it is bound to another one. */
  bind(genesis: string): Promise<void>;
  /**
   * Runs `work` in one transaction that takes a write lock at its start; commits when it resolves, rolls back when it throws.
   * @param of - whose records are written; those of other projects may be written at the same time. Without it the transaction is
   * alone with the whole store.
   * @throws `ERR_STORE_UNAVAILABLE` when the store is locked too long, read-only, full or damaged, and nothing has changed; or when
   *   the connection was lost at the commit, and it is not known whether something has.
   */
  transaction<Result>(work: (tx: StoreTransaction) => Promise<Result>, of?: OfProject): Promise<Result>;
  /** Reads a consistent state without the write lock. */
  read<Result>(work: (tx: StoreTransaction) => Promise<Result>): Promise<Result>;
  /**
   * A key with all that hangs on it, and what the store's clock said then. Every call asks it, so it is one statement.
   * @param asked - the request to look for beside it.
   */
  findKey(
    hash: Sha256,
    asked?: Partial<Pick<RequestRecord, 'operation' | 'value'>>,
  ): Promise<(KeyWithProject & Pick<Begun, 'nowMs'>) | undefined>;
  /**
   * What burns that are asked for now are accepted on, with numbers for them. It holds nothing: whoever writes them asks once more.
   * A database is asked in one statement, which waits for no lock.
   * @param count - of numbers.
   */
  reserve(tokenId: string, count: number): Promise<Reserved>;
  /** Waits for the transactions that were begun before. */
  close(): Promise<void>;
}

export interface Asked<Found> {
  readonly row: Partial<Found>;
  readonly begun: Begun;
}

/** How transactions of a database begin and end. */
export interface Transactions {
  write<Result>(
    work: (session: StoreSession, begun: Begun) => Promise<Result>,
    of: OfProject | undefined,
  ): Promise<Result>;
  read<Result>(work: (session: StoreSession, begun: Begun) => Promise<Result>): Promise<Result>;
  /**
   * The row of one query, with nothing of its columns where there is none. @default in a read
   * @param how - does it take numbers?
   */
  readonly ask?: <Found>(
    query: (db: Kysely<Tables>) => Expression<Found>,
    how?: { readonly takes: boolean },
  ) => Promise<Asked<Found>>;
  latestMs(): number;
  /** Nothing is begun any more. @param ended - when all that was begun before is at its end. */
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
  const over: typeof transactionOver = (session, begun, acts) => {
    latest = begun;
    return transactionOver(session, begun, acts);
  };
  const read: Store['read'] = (work) =>
    run(transactions.read((session, begun) => work(over(session, begun))));
  const ask: NonNullable<Transactions['ask']> =
    transactions.ask ??
    ((query) =>
      transactions.read(async ({ db }, begun) => {
        const { rows } = await sql<object>`select * from (${query(db)}) as found`.execute(db);
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
    bind: (genesis) =>
      run(
        transactions.write(async ({ db }) => {
          const { numUpdatedRows } = await db
            .updateTable('progress')
            .set({ genesis })
            .where(({ or, eb }) => or([eb('genesis', 'is', null), eb('genesis', '=', genesis)]))
            .executeTakeFirst();
          if (numUpdatedRows !== 1n)
            throw new FlywheelError('ERR_INTERNAL', 'The store is bound to another ledger.');
        }, undefined),
      ),
    async transaction(work, of) {
      const acts: (() => void)[] = [];
      const result = await run(transactions.write((session, begun) => work(over(session, begun, acts)), of));
      for (const act of acts) act();
      return result;
    },
    read,
    async findKey(hash, asked = {}) {
      const { row, begun } = await run(ask((db) => keyQuery(db, hash, asked)));
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
      const { row, begun } = await run(transactions.ask(() => reserveQuery(tokenId, count), { takes: true }));
      latest = begun;
      return reservedOf(row);
    },
    close: () => transactions.close(Promise.allSettled(running)),
  };
}
