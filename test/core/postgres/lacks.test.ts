/** Databases that an administrator has to fix: missing rights, foreign tables, another search_path. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openPostgresStore } from '../../../src/store/postgres/open.js';
import type { Store } from '../../../src/store/store.js';
import { aRequest, register } from '../../contract/store/records.js';
import { startPostgres } from '../../support/postgres.js';
import { databaseOfFile } from './database-of-file.js';

const server = databaseOfFile(startPostgres);
let count = 0;
let schema: string;

beforeAll(async () => {
  await server.query("create role guest login password 'hunter2'");
});

beforeEach(async () => {
  count += 1;
  schema = `lacks_${count}`;
  await server.query(`create schema ${schema}; alter role guest set search_path = ${schema}`);
});

const address = (user: string): string => {
  const url = new URL(server.url);
  [url.username, url.password] = [user, 'hunter2'];
  if (user === 'postgres') url.searchParams.set('options', `-c search_path=${schema}`);
  return url.href;
};

async function madeStore(): Promise<void> {
  const store = await openPostgresStore({ url: address('postgres') });
  await register(store);
  await store.close();
}

async function withStore(user: string, use: (store: Store) => Promise<void>): Promise<void> {
  const store = await openPostgresStore({ url: address(user) });
  try {
    await use(store);
  } finally {
    await store.close();
  }
}

const grant = (rights: string): Promise<unknown> =>
  server.query(
    `grant usage on schema ${schema} to guest; grant ${rights} on all tables in schema ${schema} to guest`,
  );

const insert = (store: Store): Promise<unknown> =>
  store.transaction((tx) => tx.requests.insert(aRequest({ id: 'new', value: 'new' })));

/** An error with this code that names the database and the missing right, says what to do, and has no secret. */
const lack = (code: string, ...parts: readonly string[]) => ({
  code,
  message: expect.stringMatching(
    new RegExp(`postgres://127\\.0\\.0\\.1:\\d+/postgres.*${parts.join('.*')}`, 's'),
  ),
});

async function refusalOf(work: Promise<unknown>): Promise<{ message: string; hint?: string }> {
  const error = await work.then(
    () => expect.fail('It was not refused.'),
    (thrown: unknown) => thrown as Error & { hint?: string },
  );
  expect(`${error.message} ${error.hint}`).not.toMatch(/hunter2|guest/);
  return error;
}

describe('a user without all rights', () => {
  it('is told which table it may not write, and may when it is given the rights', async () => {
    await madeStore();
    await grant('select');
    await withStore('guest', async (store) => {
      expect(await store.read((tx) => tx.requests.find({ id: 'request-1' }))).toBeDefined();
      const refused = await refusalOf(insert(store));
      expect(refused).toMatchObject(lack('ERR_STORE_UNAVAILABLE', 'rights', 'table \\w+'));
      expect(refused.hint).toContain('select, insert, update, delete');
      await grant('select, insert, update, delete');
      await insert(store);
    });
  });

  it('is refused at the start where it may make no schema, or use none', async () => {
    await server.query(`grant usage on schema ${schema} to guest`);
    const refused = await refusalOf(openPostgresStore({ url: address('guest') }));
    expect(refused).toMatchObject(lack('ERR_CONFIG_INVALID', 'rights', `schema ${schema}`));
    await madeStore();
    await expect(openPostgresStore({ url: address('guest') })).rejects.toMatchObject(
      lack('ERR_CONFIG_INVALID', 'rights', 'table schema_versions'),
    );
    await server.query(`revoke usage on schema ${schema} from guest`);
    const hidden = await refusalOf(openPostgresStore({ url: address('guest'), schema: 'require' }));
    expect(hidden).toMatchObject(lack('ERR_LOCAL_NOT_FOUND'));
    expect(hidden.hint).toContain('search_path');
  });
});

describe("another program's table", () => {
  it('of the name of one of ours is left as it is', async () => {
    await server.query(`create table ${schema}.burns (calories int)`);
    const refused = await refusalOf(openPostgresStore({ url: address('postgres') }));
    expect(refused).toMatchObject(lack('ERR_CONFIG_INVALID', 'tables', 'table burns'));
    expect(refused.hint).toContain('search_path');
    const { rows } = await server.query(
      `select table_name from information_schema.tables where table_schema = '${schema}'`,
    );
    expect(rows).toEqual([{ table_name: 'burns' }]);
  });

  it('in the place of that which tells the version is none of ours', async () => {
    await server.query(`create table ${schema}.schema_versions (applied_at text)`);
    await expect(openPostgresStore({ url: address('postgres') })).rejects.toMatchObject(
      lack('ERR_CONFIG_INVALID', 'tables', 'column version'),
    );
  });
});

describe('a search_path', () => {
  it('that leads nowhere is refused at the start', async () => {
    await madeStore();
    await server.query('alter role guest set search_path = nowhere');
    await expect(openPostgresStore({ url: address('guest') })).rejects.toMatchObject(
      lack('ERR_CONFIG_INVALID', 'tables'),
    );
  });

  it('that leads elsewhere while it is used is no defect of this program', async () => {
    await madeStore();
    await grant('select, insert, update, delete');
    await withStore('guest', async (store) => {
      await insert(store);
      await server.query('alter role guest set search_path = nowhere');
      await server.query(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = 'guest'",
      );
      // The first use of a terminated connection fails.
      for (const _connection of [1, 2, 3, 4]) await store.progress().catch(() => undefined);
      await expect(store.progress()).rejects.toMatchObject(lack('ERR_STORE_UNAVAILABLE', 'tables'));
    });
  });
});
