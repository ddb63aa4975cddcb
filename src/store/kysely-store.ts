/** The Store over any kysely: transactions in, repositories out. How a transaction locks is decided by the driver. */
import type { DatabaseConnection, Kysely } from 'kysely';
import type { Clock } from '../values/time.js';
import { bindGenesis, countWrite, readProgress } from './progress.js';
import { apiKeyRepository } from './repositories/api-keys.js';
import { auditRepository } from './repositories/audit.js';
import { batchRepository } from './repositories/batches.js';
import { bundleRepository } from './repositories/bundles.js';
import { burnRepository } from './repositories/burns.js';
import { flywheelRepository } from './repositories/flywheels.js';
import { gapRepository } from './repositories/gaps.js';
import { keyWithProject } from './repositories/key-with-project.js';
import { landingRepository } from './repositories/landings.js';
import { lineageRepository } from './repositories/lineages.js';
import { requestRepository } from './repositories/requests.js';
import { signatureRepository } from './repositories/signatures.js';
import { tokenRepository } from './repositories/tokens.js';
import { unfinishedRepository } from './repositories/unfinished.js';
import { usageRepository } from './repositories/usage.js';
import type { Session, TakeNumbers } from './session.js';
import type { OfProject, Store, StoreTransaction } from './store.js';
import type { Tables } from './tables.js';
import { type MoveTerms, rowRepository } from './transfer/rows.js';

export interface KyselyStoreSources {
  /** For one transaction, which is serialised with all others that write the same project, or without one with all that write. */
  readonly writer: (of?: OfProject) => Kysely<Tables>;
  /** Gives numbers out at once, whatever becomes of the transaction; where it is missing, within the transaction. */
  readonly numbers?: TakeNumbers;
  /** May several write at the same time? Rows have locks of their own then, and none is written by every transaction. */
  readonly isShared: boolean;
  /** For snapshots; asked for at the first read. */
  readonly reader: () => Kysely<Tables>;
  /** The highest block of the ledger that this process has seen; kept with every write. */
  readonly ledgerMark?: () => string;
  /** The clock of the store. */
  readonly clock: StoreClock;
  /** How all of it is moved; without them nothing can be moved into it. */
  readonly moves?: MoveTerms;
  /** Asked before every transaction. @throws when the data must not be used any more. */
  readonly check?: () => void;
  readonly close: () => Promise<void>;
}

/** Where the time of a store comes from. */
export interface StoreClock {
  /** The time at which the transaction that has this connection began. */
  ofTransaction(connection: DatabaseConnection): number;
  latestMs(): number;
  /** Which copy of the data that transaction is on. */
  copyOf(connection: DatabaseConnection): string;
  /** Which line of history that copy is on. */
  lineageOf(connection: DatabaseConnection): string;
}

/** The line of all files: one says nothing of where it was before. */
export const FILE_LINEAGE = 'file';

/** A store whose time is that of this process. */
export const ownClock = (clock: Clock): StoreClock => ({
  ofTransaction: () => clock.nowMs(),
  latestMs: () => clock.nowMs(),
  // A file that is replaced under a process is noticed by who has it open.
  copyOf: () => '',
  lineageOf: () => FILE_LINEAGE,
});

type Begun = Pick<StoreTransaction, 'nowMs' | 'copy' | 'lineage'>;

const withProject = (session: Session): StoreTransaction['apiKeys'] => ({
  ...apiKeyRepository(session),
  withProject: (hash) => keyWithProject(session, hash),
});

/** Repositories are made when they are asked for: a transaction uses few of them, and there are many transactions. */
class Repositories implements StoreTransaction {
  readonly nowMs: number;
  readonly copy: string;
  readonly lineage: string;
  readonly #session: Session;
  readonly #made = new Map<(session: Session) => unknown, unknown>();
  readonly #whenCommitted: (() => void)[] = [];

  constructor(session: Session, { nowMs, copy, lineage }: Begun) {
    this.#session = session;
    this.nowMs = nowMs;
    this.copy = copy;
    this.lineage = lineage;
  }

  get tokens() {
    return this.#by(tokenRepository);
  }

  get flywheels() {
    return this.#by(flywheelRepository);
  }

  get apiKeys() {
    return this.#by(withProject);
  }

  get requests() {
    return this.#by(requestRepository);
  }

  get burns() {
    return this.#by(burnRepository);
  }

  get usage() {
    return this.#by(usageRepository);
  }

  get batches() {
    return this.#by(batchRepository);
  }

  get bundles() {
    return this.#by(bundleRepository);
  }

  get landings() {
    return this.#by(landingRepository);
  }

  get signatures() {
    return this.#by(signatureRepository);
  }

  get lineages() {
    return this.#by(lineageRepository);
  }

  get unfinished() {
    return this.#by(unfinishedRepository);
  }

  get audit() {
    return this.#by(auditRepository);
  }

  get gaps() {
    return this.#by(gapRepository);
  }

  get rows() {
    return this.#by(rowRepository);
  }

  whenCommitted(act: () => void): void {
    this.#whenCommitted.push(act);
  }

  /** Once it is. */
  committed(): void {
    for (const act of this.#whenCommitted) act();
  }

  #by<Repository>(make: (session: Session) => Repository): Repository {
    const known = this.#made.get(make) as Repository | undefined;
    if (known !== undefined) return known;
    const repository = make(this.#session);
    this.#made.set(make, repository);
    return repository;
  }
}

/** The store over two ways to the same data. Closing waits for the transactions that were begun before. */
export function createKyselyStore(sources: KyselyStoreSources): Store {
  const {
    writer,
    reader,
    clock,
    close,
    moves,
    numbers,
    isShared,
    ledgerMark = () => '',
    check = () => undefined,
  } = sources;
  const kept: Pick<Session, 'compiled' | 'keys'> = { compiled: new Map(), keys: new Map() };
  const running = new Set<Promise<unknown>>();
  let copy = '';
  let lineage = '';

  const run = async <Result>(transaction: Promise<Result>): Promise<Result> => {
    running.add(transaction);
    try {
      return await transaction;
    } finally {
      running.delete(transaction);
    }
  };

  const begunOf = async ({ db }: Session): Promise<Begun> => {
    const begun = await db.getExecutor().provideConnection(async (connection) => ({
      nowMs: clock.ofTransaction(connection),
      copy: clock.copyOf(connection),
      lineage: clock.lineageOf(connection),
    }));
    ({ copy, lineage } = begun);
    return begun;
  };
  const transactionOf = async (session: Session): Promise<Repositories> =>
    new Repositories(session, await begunOf(session));

  const write = async <Result>(
    work: (session: Session) => Promise<Result>,
    of?: OfProject,
  ): Promise<Result> => {
    check();
    return run(
      writer(of)
        .transaction()
        .execute(async (db) => {
          const session = { db, ...kept, moves, locksRows: isShared, ...(numbers && { numbers }) };
          const result = await work(session);
          if (!isShared) await countWrite(session, ledgerMark());
          return result;
        }),
    );
  };
  const read = async <Result>(work: (session: Session) => Promise<Result>): Promise<Result> => {
    check();
    return run(
      reader()
        .transaction()
        .setAccessMode('read only')
        .execute((db) => work({ db, ...kept, moves, locksRows: isShared })),
    );
  };

  return {
    get copy() {
      return copy;
    },
    get lineage() {
      return lineage;
    },
    progress: () =>
      read(async (session) => {
        await begunOf(session);
        return readProgress(session);
      }),
    bind: (genesis) => write((session) => bindGenesis(session, genesis)),
    latestMs: () => clock.latestMs(),
    async transaction(work, of) {
      const { tx, result } = await write(async (session) => {
        const tx = await transactionOf(session);
        return { tx, result: await work(tx) };
      }, of);
      tx.committed();
      return result;
    },
    read: (work) => read(async (session) => work(await transactionOf(session))),
    close: async () => {
      await Promise.allSettled(running);
      await close();
    },
  };
}
