import { join } from 'node:path';
import Database from 'libsql';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openSqliteStore } from '../../../../src/store/sqlite/open.js';
import type { Store } from '../../../../src/store/store.js';
import { aBurn, anotherProject, aRequest, register } from '../../../contract/store/records.js';
import { emptyDirectory } from '../../../support/spawn.js';
import { rawSqlite } from '../../../support/store.js';

let directory: string;
let path: string;

beforeEach(async () => {
  directory = emptyDirectory();
  path = join(directory, 'store.db');
  const store = await openSqliteStore({ path });
  await register(store);
  await store.close();
});
/** A store whose file may grow by this many pages only, as on a nearly full disk. */
async function storeWithRoomFor(
  pages: number,
): Promise<{ readonly store: Store; readonly free: () => void }> {
  const prepare = vi.spyOn(Database.prototype, 'prepare');
  const store = await openSqliteStore({ path, busyTimeoutMs: 100 });
  const database = prepare.mock.contexts[0] as Database.Database;
  prepare.mockRestore();
  const [size] = database.prepare('pragma page_count').all() as { page_count: number }[];
  const limit = (count: number) => void database.prepare(`pragma max_page_count = ${count}`).all();
  limit((size?.page_count ?? 0) + pages);
  return { store, free: () => limit(1_000_000) };
}

const burns = Array.from({ length: 300 }, (_, index) =>
  aBurn(index + 1, { transaction: new Uint8Array(400) }),
);

describe('a store on a full disk', () => {
  it('changes nothing when the disk is full, says so, and works again when there is room', async () => {
    const { store, free } = await storeWithRoomFor(10);
    const work = () =>
      store.transaction(async (tx) => {
        await tx.requests.insert(aRequest({ id: 'many', value: 'many' }));
        await tx.burns.insertMany(aRequest({ id: 'many' }), burns);
      });
    await expect(work()).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      message: `The store ${path} cannot grow: the disk or the quota is full.`,
      hint: expect.stringContaining('Delete or move other files on its disk'),
    });
    expect(await store.read((tx) => tx.requests.find({ id: 'many' }))).toBeUndefined();
    free();
    await work();
    expect(await store.read((tx) => tx.burns.ofRequest('many'))).toHaveLength(300);
    await store.close();
  });

  it('lets nothing be written outside of a transaction that the database has rolled back', async () => {
    const { store } = await storeWithRoomFor(10);
    const work = store.transaction(async (tx) => {
      await tx.requests.insert(aRequest({ id: 'many', value: 'many' }));
      const tooLarge = anotherProject({ tokenName: 'x'.repeat(200_000) });
      await tx.projects.insert(tooLarge).catch(() => undefined);
      await tx.requests.insert(aRequest({ id: 'stray', value: 'stray' }));
    });
    await expect(work).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
    await store.close();
    expect(rawSqlite(path, 'select id from requests')).toStrictEqual([{ id: 'request-1' }]);
  });
});
