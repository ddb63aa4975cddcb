/** What every store does, whatever database it is over. */
import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import type { Store } from '../../src/store/store.js';
import { openPostgresStoreIn, type PostgresServer, startPostgres } from '../support/postgres.js';
import { type OpenStore, openTemporarySqliteStore, register, type StoreUnderTest } from '../support/store.js';
import { batches, bundles } from './store/batches.js';
import { burns } from './store/burns.js';
import { constraints } from './store/constraints.js';
import { landings } from './store/landings.js';
import { registrations } from './store/registrations.js';
import { requests } from './store/requests.js';
import { transactions } from './store/transactions.js';
import { unfinished } from './store/unfinished.js';
import { usage } from './store/usage.js';

function storeContract(database: string, openStore: OpenStore): void {
  describe(`store on ${database}`, () => {
    let under: StoreUnderTest;
    let store: Store;

    beforeEach(async () => {
      under = await openStore();
      store = under.store;
      await register(store);
    });
    afterEach(() => under.dispose());

    registrations(() => store);
    requests(() => store);
    burns(() => store);
    usage(() => store);
    batches(() => store);
    bundles(() => store);
    landings(() => store);
    unfinished(() => under);
    constraints(() => under);
    transactions(() => under);
  });
}

storeContract('SQLite', openTemporarySqliteStore);

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

storeContract(
  'PostgreSQL',
  openPostgresStoreIn(() => server.url),
);
