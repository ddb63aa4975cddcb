/** Which statements connections prepare, and what becomes of those that the schema has left behind. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPostgresStore } from '../../../src/store/postgres/open.js';
import { StatementNames } from '../../../src/store/postgres/statement-names.js';
import type { Store } from '../../../src/store/store.js';
import { type OwnDatabase, openDatabase } from '../../support/postgres.js';

describe('names of statements', () => {
  it('are the same for the same text, and no two texts have one', () => {
    const names = new StatementNames();
    const texts = [
      'select 1',
      'select 2',
      'update a set b = $1',
      'select a from b where c = $1 and d in (1)',
    ];
    const given = texts.map((text) => names.of(text));
    expect(new Set(given).size).toBe(texts.length);
    expect(given).not.toContain(undefined);
    expect(texts.map((text) => names.of(text))).toEqual(given);
  });

  it.each([
    'select a from b where c in ($1, $2)',
    'select a from b where c not in ($1)',
    'insert into a values ($1, $2), ($3, $4)',
    'with c (a) as (values (cast($1 as bigint)), (cast($2 as bigint))) select 1',
  ])('has none where the text grows with what it is asked about: %s', (text) => {
    expect(new StatementNames().of(text)).toBeUndefined();
  });

  it('are so many and no more, and those that are given stay', () => {
    const names = new StatementNames();
    const first = names.of('select 0');
    const given = Array.from({ length: 1_000 }, (_, index) => names.of(`select ${index}`));
    expect(given.filter((name) => name !== undefined)).toHaveLength(160);
    expect(names.of('select 0')).toBe(first);
  });
});

describe('a connection with prepared statements', () => {
  let server: OwnDatabase;
  let admin: pg.Client;
  let store: Store;

  beforeAll(async () => {
    server = await openDatabase();
    admin = new pg.Client({ connectionString: server.url });
    await admin.connect();
    store = await openPostgresStore({ url: server.url, readers: 1, writers: 1 });
  });
  afterAll(async () => {
    await store.close();
    await admin.end();
    await server.stop();
  });

  const find = () => store.read((tx) => tx.requests.find('token-1', 'burn', 'value-1'));
  const note = () => store.transaction((tx) => tx.requests.running());

  it.each([
    ['reads', find],
    ['writes', note],
  ])('is left when another process has changed a table that it %s, and the next works', async (way, ask) => {
    await ask();
    await admin.query(`alter table requests add column later_${way} text`);
    await expect(ask()).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
    expect(await ask()).toBeOneOf([undefined, []]);
  });
});
