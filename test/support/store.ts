/** Stores for tests. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { openSqliteStore } from '../../src/store/sqlite/open.js';
import type { Store } from '../../src/store/store.js';
import type { Clock } from '../../src/values/time.js';
import { emptyDirectory } from './spawn.js';

export interface OpenAgainOptions {
  readonly busyTimeoutMs?: number;
  readonly clock?: Clock;
}

/** A store, and access to its tables without the repositories. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Another store on the same data, as in another process. */
  openAgain(options?: OpenAgainOptions): Promise<Store>;
  raw(statement: string): Promise<Record<string, unknown>[]>;
  /** Like `raw`, with foreign keys off; missing if the database cannot. */
  rawWithoutReferences?(statement: string): Promise<Record<string, unknown>[]>;
  dispose(): Promise<void>;
}

export type OpenStore = () => Promise<StoreUnderTest>;

/** Runs one statement on its own connection, without the checks of the repositories. */
export function rawSqlite(
  path: string,
  statement: string,
  { foreignKeys = true, checks = true }: { readonly foreignKeys?: boolean; readonly checks?: boolean } = {},
): Record<string, unknown>[] {
  const database = new Database(path, { timeout: 5_000 });
  try {
    database.exec(`pragma foreign_keys = ${foreignKeys ? 'ON' : 'OFF'}`);
    database.exec(`pragma ignore_check_constraints = ${checks ? 'OFF' : 'ON'}`);
    const prepared = database.prepare(statement);
    if (prepared.reader) return prepared.all() as Record<string, unknown>[];
    prepared.run();
    return [];
  } finally {
    database.close();
  }
}

export const openTemporarySqliteStore: OpenStore = async () => {
  const directory = emptyDirectory();
  const path = join(directory, 'store.db');
  const opened: Store[] = [];
  const open = async (options: OpenAgainOptions = {}) => {
    const store = await openSqliteStore({ path, ...options });
    opened.push(store);
    return store;
  };
  return {
    store: await open(),
    openAgain: open,
    raw: async (statement) => rawSqlite(path, statement),
    rawWithoutReferences: async (statement) => rawSqlite(path, statement, { foreignKeys: false }),
    async dispose() {
      for (const store of opened) await store.close();
      rmSync(directory, { recursive: true });
    },
  };
};
