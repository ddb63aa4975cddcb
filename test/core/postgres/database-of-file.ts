/** Opens a database before the tests of a file, and closes it after them. */
import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { type OwnDatabase, openDatabase } from '../../support/postgres.js';

/** @param open - @default on the server of the run */
export function databaseOfFile(open: () => Promise<OwnDatabase> = openDatabase) {
  let database: OwnDatabase;
  let admin: pg.Client;
  beforeAll(async () => {
    database = await open();
    admin = new pg.Client({ connectionString: database.url });
    await admin.connect();
  });
  afterAll(async () => {
    await admin.end();
    await database.stop();
  });
  return {
    get url() {
      return database.url;
    },
    query: <Row extends pg.QueryResultRow>(statement: string, values?: unknown[]) =>
      admin.query<Row>(statement, values),
  };
}
