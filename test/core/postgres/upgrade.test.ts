/**
 * The schema of a database: created once by concurrent starts, refused if it is another one, and unchanged by servers that no
 * longer own it.
 */
import { describe, expect, it } from 'vitest';
import { STORE_VERSION } from '../../../src/store/ddl.js';
import { openPostgresStore } from '../../../src/store/postgres/open.js';
import { upgradeStore } from '../../../src/store/postgres/upgrade.js';
import { databaseOfFile } from './database-of-file.js';

const server = databaseOfFile();
let count = 0;
let url: string;

async function emptySchema(): Promise<void> {
  count += 1;
  await server.query(`create schema upgrade_${count}; set search_path = upgrade_${count}`);
  url = `${server.url}?options=${encodeURIComponent(`-c search_path=upgrade_${count}`)}`;
}

const setVersion = (version: number) =>
  server.query(`insert into schema_versions values (${version}, 'later', '')`);

describe('upgradeStore', () => {
  it('says what it would do, and is done once by many at a time', async () => {
    await emptySchema();
    const planned = await upgradeStore({ url, isDryRun: true });
    expect(planned).toMatchObject({ from: 0, to: STORE_VERSION });
    expect((await upgradeStore({ url, isDryRun: true })).from).toBe(0);
    await Promise.all([1, 2, 3, 4].map(() => upgradeStore({ url })));
    const { rows } = await server.query('select name from schema_versions order by version');
    expect(rows.map(({ name }) => name)).toEqual(planned.applied);
    expect(await upgradeStore({ url })).toEqual({ from: STORE_VERSION, to: STORE_VERSION, applied: [] });
  });

  it.each([
    ['other tables', `update schema_versions set digest = '${'0'.repeat(64)}'`],
    ['no digest of its tables', 'alter table schema_versions drop column digest'],
  ])('refuses the schema of another build with %s in one sentence', async (_, change) => {
    await emptySchema();
    await upgradeStore({ url });
    await server.query(change);
    const refused = {
      code: 'ERR_STORE_VERSION_MISMATCH',
      message: expect.stringContaining('was written by another build of flywheel.'),
    };
    await expect(upgradeStore({ url })).rejects.toMatchObject(refused);
    await expect(openPostgresStore({ url })).rejects.toMatchObject(refused);
    await expect(openPostgresStore({ url, schema: 'require' })).rejects.toMatchObject(refused);
  });

  it('refuses a schema that is newer than this build', async () => {
    await emptySchema();
    await upgradeStore({ url });
    await setVersion(STORE_VERSION + 1);
    const refused = { code: 'ERR_STORE_VERSION_MISMATCH' };
    await expect(upgradeStore({ url })).rejects.toMatchObject(refused);
    await expect(openPostgresStore({ url })).rejects.toMatchObject(refused);
    await expect(openPostgresStore({ url, schema: 'require' })).rejects.toMatchObject(refused);
  });
});

describe('openPostgresStore', () => {
  it('makes no schema where it is required', async () => {
    await emptySchema();
    await expect(openPostgresStore({ url, schema: 'require' })).rejects.toMatchObject({
      code: 'ERR_LOCAL_NOT_FOUND',
    });
    expect((await upgradeStore({ url, isDryRun: true })).from).toBe(0);
  });

  it('begins nothing any more once the schema was changed under it', async () => {
    await emptySchema();
    const store = await openPostgresStore({ url });
    await store.read((tx) => tx.projects.list());
    await setVersion(STORE_VERSION + 1);
    const refused = { code: 'ERR_STORE_UNAVAILABLE', message: expect.stringContaining('schema version') };
    await expect(store.read((tx) => tx.projects.list())).rejects.toMatchObject(refused);
    await expect(store.transaction((tx) => tx.projects.list())).rejects.toMatchObject(refused);
    await store.close();
  });

  it('tells an address that is wrong from a server that is away', async () => {
    const nowhere = new URL(server.url);
    nowhere.pathname = '/nowhere';
    await expect(openPostgresStore({ url: nowhere.href })).rejects.toMatchObject({
      code: 'ERR_CONFIG_INVALID',
      message: expect.stringContaining('/nowhere'),
    });
    await server.query("create role locked login password 'secret'; create role nobody_here nologin");
    const refused = new URL(server.url);
    refused.username = 'nobody_here';
    await expect(openPostgresStore({ url: refused.href })).rejects.toMatchObject({
      code: 'ERR_CONFIG_INVALID',
      message: expect.not.stringContaining('nobody_here'),
    });
    nowhere.port = '1';
    await expect(openPostgresStore({ url: nowhere.href })).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
    });
  });
});
