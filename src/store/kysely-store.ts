/** The Store over any kysely: transactions in, repositories out. How a transaction locks is decided by the driver. */
import type { CompiledQuery, Kysely } from 'kysely';
import { apiKeyRepository } from './repositories/api-keys.js';
import { batchRepository } from './repositories/batches.js';
import { bundleRepository } from './repositories/bundles.js';
import { burnRepository } from './repositories/burns.js';
import { flywheelRepository } from './repositories/flywheels.js';
import { requestRepository } from './repositories/requests.js';
import { tokenRepository } from './repositories/tokens.js';
import { usageRepository } from './repositories/usage.js';
import type { Session } from './session.js';
import type { Store, StoreTransaction } from './store.js';
import type { Tables } from './tables.js';

export interface KyselyStoreSources {
  /** Its transactions are serialised with all others that write. */
  readonly writer: Kysely<Tables>;
  /** For snapshots; asked for at the first read. */
  readonly reader: () => Kysely<Tables>;
  readonly close: () => Promise<void>;
}

const repositories = (session: Session): StoreTransaction => ({
  tokens: tokenRepository(session),
  flywheels: flywheelRepository(session),
  apiKeys: apiKeyRepository(session),
  requests: requestRepository(session),
  burns: burnRepository(session),
  usage: usageRepository(session),
  batches: batchRepository(session),
  bundles: bundleRepository(session),
});

/** The store over two ways to the same data. Closing waits for the transactions that were begun before. */
export function createKyselyStore({ writer, reader, close }: KyselyStoreSources): Store {
  const compiled = new Map<string, CompiledQuery>();
  const running = new Set<Promise<unknown>>();

  const run = async <Result>(transaction: Promise<Result>): Promise<Result> => {
    running.add(transaction);
    try {
      return await transaction;
    } finally {
      running.delete(transaction);
    }
  };

  return {
    transaction: (work) => run(writer.transaction().execute((db) => work(repositories({ db, compiled })))),
    read: async (work) =>
      run(
        reader()
          .transaction()
          .setAccessMode('read only')
          .execute((db) => work(repositories({ db, compiled }))),
      ),
    close: async () => {
      await Promise.allSettled(running);
      await close();
    },
  };
}
