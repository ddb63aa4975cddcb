/** Opens the store in an SQLite file: directory, permissions, version, locks, and the driver for kysely. */

import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Kysely, SqliteDialect, SqliteDriver, type SqliteStatement, sql } from 'kysely';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { makeDirectory } from '../../files/directories.js';
import { watchFile } from '../../files/read-file.js';
import {
  BUSY_TIMEOUT_MS,
  type Connect,
  type ConnectionOptions,
  closeToOthers,
  loadSqlite,
  prepareSqliteFile,
  type SqliteConnection,
  schemaVersionOf,
} from '../../files/sqlite-connection.js';
import {
  fileReplaced,
  isBusy,
  isOfSqlite,
  isRefusedRow,
  translateSqliteError,
} from '../../files/sqlite-errors.js';
import { type Clock, systemClock } from '../../values/time.js';
import { toCell } from '../columns.js';
import {
  APPLICATION_ID,
  APPLIED,
  type Applied,
  FILE_LINEAGE,
  migrate,
  OTHER_BUILD,
  type Refuse,
  STORE_VERSION,
  VERSIONS,
  versionOf,
} from '../ddl.js';
import { lockedTooLong, statementFailed, storeClosed, storeUnavailable } from '../errors.js';
import { Mutex } from '../mutex.js';
import type { Tables } from '../schema.js';
import { RecordPlugin, type StoreSession } from '../session.js';
import { type Begun, createStore, type Store } from '../store.js';

const storeName = (path: string) => ({ path, noun: 'store' });

/** `ERR_STORE_UNAVAILABLE` if the file is at fault, `ERR_INTERNAL` if a statement is; other errors pass through. */
function toStoreError(error: unknown, path: string): unknown {
  const translated = translateSqliteError(storeName(path), error);
  return isOfSqlite(translated) ? statementFailed(isRefusedRow(error), error) : translated;
}

/** Longest pause between attempts to take the write lock; short, because a busy process leaves only short gaps. */
const MAX_POLL_MS = 10;
/** Preparing takes longer than most statements run. Lists of other lengths are other texts, hence a bound. */
const MOST_STATEMENTS = 200;

interface Place {
  readonly path: string;
  readonly busyTimeoutMs: number;
  readonly clock: Clock;
  /** Of the file, when the store was opened: all connections compare it. */
  schemaVersion?: number;
}

/** Polls: waiting for a lock inside SQLite would block the event loop. */
async function whenFree<Result>({ path, busyTimeoutMs }: Place, work: () => Result): Promise<Result> {
  const startMs = performance.now();
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, MAX_POLL_MS)) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() - startMs >= busyTimeoutMs)
        throw lockedTooLong(path, busyTimeoutMs, 'another process', error);
    }
    await delay(pauseMs);
  }
}

/** kysely over one connection. `begin immediate` takes the write lock at once, `begin` a snapshot at the first statement. */
function kyselyOver(
  connection: SqliteConnection,
  place: Place,
  begin: 'begin immediate' | 'begin',
): Kysely<Tables> {
  /** After some failures, such as a full disk, SQLite rolls back by itself. A later statement would then commit on its own. */
  const requireTransaction = (): void => {
    if (!connection.inTransaction)
      throw storeUnavailable(place.path, 'rolled the transaction back after an earlier failure');
  };
  const prepared = (text: string): SqliteStatement => {
    const statement = connection.prepare(text);
    return {
      reader: statement.reader,
      all: (parameters) => statement.all(parameters.map(toCell)),
      run: (parameters) => {
        const { changes, lastInsertRowid } = statement.run(parameters.map(toCell));
        return { changes, lastInsertRowid };
      },
      iterate: (parameters) => statement.iterate(parameters.map(toCell)),
    };
  };
  const statements = new Map<string, SqliteStatement>();
  const driver = new SqliteDriver({
    database: {
      close: () => void connection.close(),
      prepare: (text) => {
        requireTransaction();
        if (statements.size > MOST_STATEMENTS) statements.clear();
        const statement = statements.get(text) ?? prepared(text);
        statements.set(text, statement);
        return statement;
      },
    },
  });
  // Not prepared: a prepared `begin` would stay in progress when the lock is not free.
  driver.beginTransaction = () => whenFree(place, () => void connection.exec(begin));
  driver.commitTransaction = async () => {
    requireTransaction();
    connection.exec('commit');
  };
  driver.rollbackTransaction = async () => {
    if (connection.inTransaction) connection.exec('rollback');
  };
  class StoreDialect extends SqliteDialect {
    override createDriver = () => driver;
  }
  return new Kysely({ dialect: new StoreDialect({} as never), plugins: [new RecordPlugin()] });
}

interface SqliteStoreOptions {
  /** The file and its directory get permissions for this user only. */
  readonly path: string;
  /** Create a missing file. `false` where a file must exist: a new, empty one would hide the loss. @default true */
  readonly create?: boolean;
  readonly busyTimeoutMs?: number;
  /**
   * The newest ledger block that this process has seen, as text that rises with the block.
   * @default none
   * @throws if the ledger was replaced: then the store is not used either
   */
  readonly ledgerMark?: () => string;
  readonly clock?: Clock;
}

/**
 * @returns the store's version, 0 for a new file. Does not use kysely, whose first statement takes longer than the whole opening.
 * @throws `ERR_STORE_UNAVAILABLE` for a database of another program, or of another part or build of flywheel
 */
function versionIn(database: SqliteConnection, refuse: Refuse, path: string): number {
  const isOurs = (): boolean => {
    const [row] = database.prepare('pragma application_id').all([]);
    return Number(Object.values(row as object)[0] ?? 0) === APPLICATION_ID;
  };
  const has = (what: string): boolean =>
    database.prepare(`select 1 from sqlite_master where ${what} limit 1`).all([]).length > 0;
  const wasOurs = isOurs();
  // Checked twice: another process may be creating the store between the two reads.
  if (!wasOurs && has('true') && !isOurs())
    throw new FlywheelError('ERR_STORE_UNAVAILABLE', `${path} is a database, but not a store of flywheel.`, {
      hint: 'Nothing was written. Check --data-dir.',
    });
  if (has(`name = '${VERSIONS}'`)) {
    const applied = database.prepare(APPLIED).all([]) as readonly Applied[];
    return versionOf('sqlite', applied, refuse);
  }
  if (wasOurs) throw refuse(OTHER_BUILD);
  return 0;
}

interface Transactions {
  readonly connection: SqliteConnection;
  /** Of the schema, when the connection was opened. */
  readonly version: number;
  run<Result>(work: (session: StoreSession, begun: Begun) => Promise<Result>): Promise<Result>;
}

type Use = ConnectionOptions['use'] & ('power-cut' | 'reader');

/** @param use - `power-cut`: writes, and creates or migrates the schema */
async function open(connect: Connect, place: Place, use: Use): Promise<Transactions> {
  const { path, busyTimeoutMs, clock } = place;
  const isWriter = use === 'power-cut';
  const refuse: Refuse = (
    what,
    hint = 'Use another --data-dir, or delete this one and its keys: `flywheel local reset`.',
  ) => storeUnavailable(path, what, { hint });
  let version = 0;
  const inspect = (own: SqliteConnection): void => {
    version = versionIn(own, refuse, path);
  };
  // Setting the journal mode fails at once if another process does the same.
  const connection = await whenFree(place, () =>
    connect({ use, busyTimeoutMs: isWriter ? 0 : busyTimeoutMs, foreignKeys: isWriter, inspect }),
  );
  try {
    const db = kyselyOver(connection, place, isWriter ? 'begin immediate' : 'begin');
    const schemaVersion = schemaVersionOf(connection);
    if (isWriter && version < STORE_VERSION) {
      await db.transaction().execute((trx) => migrate(trx, 'sqlite', refuse));
      place.schemaVersion = schemaVersion();
    }
    place.schemaVersion ??= schemaVersion();
    const requireSame = (): void => {
      if (schemaVersion() !== place.schemaVersion) throw fileReplaced(storeName(path));
    };
    const what = isWriter ? 'transaction' : 'read';
    const mutex = new Mutex(busyTimeoutMs, () =>
      lockedTooLong(path, busyTimeoutMs, `another ${what} of this process`),
    );
    // `copy` is constant: {@link watchFile} and the schema version detect a replaced file.
    const begun = (): Begun => ({ nowMs: clock.nowMs(), copy: '', lineage: FILE_LINEAGE });
    return {
      ...{ connection, version },
      run: (work) =>
        mutex
          .run(() =>
            db.transaction().execute((trx) => {
              requireSame();
              return work({ db: trx, database: 'sqlite' }, begun());
            }),
          )
          .catch((error: unknown) => {
            throw isOfSqlite(error) ? toStoreError(error, path) : error;
          }),
    };
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * Opens the store and creates it first when needed.
 * @throws `ERR_STORE_UNAVAILABLE` if the file is missing, foreign, locked too long, read-only, damaged, or of another build
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { path, busyTimeoutMs = BUSY_TIMEOUT_MS, create = true } = options;
  const { ledgerMark = () => '', clock = systemClock } = options;
  const connect = await loadSqlite(storeName(path));
  const place = { path, busyTimeoutMs, clock };
  try {
    if (create) makeDirectory(dirname(path));
    prepareSqliteFile(storeName(path), create);
    closeToOthers(path);
    const opened = new Map<Use, Promise<Transactions>>();
    /** Each connection opens at its first use: the reader has snapshots beside the writer, and writes nothing. */
    const connection = (use: Use): Promise<Transactions> => {
      const opening = opened.get(use) ?? open(connect, place, use);
      opened.set(use, opening);
      return opening.catch((error: unknown) => {
        opened.delete(use);
        throw toStoreError(error, path);
      });
    };
    if (create) await connection('power-cut');
    const isSameFile = watchFile(path);
    let isClosed = false;
    /** @returns the mark of the ledger */
    const checkFiles = (): string => {
      if (isClosed) throw storeClosed(path);
      if (!isSameFile()) throw fileReplaced(storeName(path));
      return ledgerMark();
    };
    return createStore({
      async write(work) {
        const known = checkFiles();
        return (await connection('power-cut')).run(async (session, begun) => {
          const result = await work(session, begun);
          const mark = sql<string>`max(ledger_mark, ${known})`;
          await session.db.updateTable('progress').set({ ledgerMark: mark }).execute();
          return result;
        });
      },
      async read(work) {
        checkFiles();
        const reader = await connection('reader');
        if (reader.version < STORE_VERSION) await connection('power-cut');
        return reader.run(work);
      },
      latestMs: () => clock.nowMs(),
      async close(ended) {
        if (isClosed) return;
        isClosed = true;
        await ended;
        (await opened.get('reader'))?.connection.close();
        (await opened.get('power-cut'))?.connection.close();
      },
    });
  } catch (error) {
    throw toStoreError(error, path);
  }
}
