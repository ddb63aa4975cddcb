import { afterAll, beforeAll } from 'vitest';
import { storeContract } from '../../contract/store/contract.js';
import { isLong } from '../../support/long.js';
import { type OwnDatabase, openDatabase, openPostgresStoreIn } from '../../support/postgres.js';

let database: OwnDatabase;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => database.stop());

storeContract(
  'PostgreSQL',
  openPostgresStoreIn(() => database.url),
  isLong,
);
