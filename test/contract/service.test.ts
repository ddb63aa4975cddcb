/** Every way to the service, and every pair of store and chain behind it. */
import { afterAll, beforeAll } from 'vitest';
import { openPostgresStoreIn, type PostgresServer, startPostgres } from '../support/postgres.js';
import {
  openInDatabase,
  openInProcess,
  openOnCluster,
  openOverHttp,
  openServersOnDatabase,
} from '../support/service.js';
import { serviceContract } from './service/service.js';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());
const openDatabase = openPostgresStoreIn(() => server.url);

serviceContract('in process', openInProcess);
serviceContract('over HTTP', openOverHttp);
serviceContract('on a cluster', () => openOnCluster());
serviceContract('on PostgreSQL', async () => openInDatabase(await openDatabase()));
serviceContract('on PostgreSQL, over HTTP through two servers', async () =>
  openServersOnDatabase(await openDatabase()),
);
serviceContract('on PostgreSQL and a cluster', async () => {
  const database = await openDatabase();
  const under = await openOnCluster([], 1, undefined, undefined, undefined, database.store);
  return {
    ...under,
    async dispose() {
      await under.dispose();
      await database.dispose();
    },
  };
});
