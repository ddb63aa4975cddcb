/** The store on PostgreSQL with broken connections, an absent server, and many concurrent starts. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openPostgresStore } from '../../../src/store/postgres/open.js';
import type { Store } from '../../../src/store/store.js';
import { aRequest, register } from '../../contract/store/records.js';
import { type DatabaseWay, openDatabaseWay } from '../../support/database-way.js';
import { type PostgresServer, queryAt, startPostgres } from '../../support/postgres.js';

let server: PostgresServer;
let way: DatabaseWay;
let url: string;
let schema = 0;
const opened: Store[] = [];

const ask = (statement: string) => queryAt(server.url, statement);

const at = (address: string, name: string): string =>
  `${address}?options=${encodeURIComponent(`-c search_path=${name}`)}`;

async function open(address: string): Promise<Store> {
  const store = await openPostgresStore({ url: address, busyTimeoutMs: 2_000 });
  opened.push(store);
  return store;
}

beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

beforeEach(async () => {
  schema += 1;
  await ask(`create schema s${schema}`);
  way = await openDatabaseWay(at(server.url, `s${schema}`));
  url = way.url;
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  await way.end();
});

const insert = (store: Store, id: string) =>
  store.transaction((tx) => tx.requests.insert(aRequest({ id, value: id })));

describe('a commit', () => {
  it('that never reached the server has changed nothing, and is an error', async () => {
    const store = await open(url);
    await register(store);
    way.cutAtCommit(1, false);
    const lost = insert(store, 'lost');
    await expect(lost).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
    expect(await store.read((tx) => tx.requests.find({ id: 'lost' }))).toBeUndefined();
    await insert(store, 'after');
    expect(await store.read((tx) => tx.requests.find({ id: 'after' }))).toBeDefined();
  });

  it('whose answer was lost, and cannot be asked for, is said to be unknown, and is done', async () => {
    const store = await open(url);
    await register(store);
    way.cutAtCommit(1, true);
    await expect(insert(store, 'kept')).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      message: expect.stringContaining('outcome is unknown'),
    });
    expect(await store.read((tx) => tx.requests.find({ id: 'kept' }))).toBeDefined();
  });
});

describe('the server', () => {
  it('is said to be away while it is, in reads and writes, and is used again when it is back', async () => {
    const store = await open(url);
    await register(store);
    await server.restart(async () => {
      for (const use of [store.transaction, store.read])
        await expect(use((tx) => tx.projects.list())).rejects.toMatchObject({
          code: 'ERR_STORE_UNAVAILABLE',
        });
    });
    expect(await store.read((tx) => tx.requests.find({ id: 'request-1' }))).toBeDefined();
    await insert(store, 'after');
  });

  it('knows its line of history before anything is written', async () => {
    const store = await open(url);
    const [here, last] = await store.read(async (tx) => [tx.lineage, (await tx.lineages.progress()).lineage]);
    expect(last).toBe(here);
  });

  it('makes a commit lasting before it answers, whatever the database is set to', async () => {
    await ask('alter role postgres set synchronous_commit = off');
    const store = await open(url);
    await register(store);
    // A trigger of the test records the settings of the writing connection.
    await ask(`create table s${schema}.seen (setting text)`);
    await ask(`create function s${schema}.note() returns trigger language plpgsql as
      'begin insert into s${schema}.seen values (current_setting(''synchronous_commit'')); return new; end'`);
    await ask(
      `create trigger note before insert on s${schema}.requests for each row execute function s${schema}.note()`,
    );
    await insert(store, 'lasting');
    expect(await ask(`select setting from s${schema}.seen`)).toEqual([{ setting: 'on' }]);
    await ask('alter role postgres reset synchronous_commit');
  });
});
