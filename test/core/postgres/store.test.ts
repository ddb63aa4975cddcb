import { storeContract } from '../../contract/store/contract.js';
import { isLong } from '../../support/long.js';
import { openPostgresStoreIn } from '../../support/postgres.js';
import { databaseOfFile } from './database-of-file.js';

const database = databaseOfFile();

storeContract(
  'PostgreSQL',
  openPostgresStoreIn(() => database.url),
  isLong,
);
