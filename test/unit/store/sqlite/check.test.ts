/** Reports on a file whose rows break rules that SQLite itself does not check. */

import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { openSqliteStore } from '../../../../src/store/sqlite/open.js';
import { register } from '../../../contract/store/records.js';
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
it.each([
  ['file', "update projects set decimals = 'many'"],
  ['references', "update api_keys set token_id = 'nobody'"],
])('tells that the %s is broken', async (rule, damage) => {
  const broken = async () => {
    const store = await openSqliteStore({ path, create: false });
    const checked = await store.read(({ rules }) => rules.check());
    await store.close();
    return checked.flatMap(({ name, wrong }) => (wrong > 0 ? name : []));
  };
  expect(await broken()).toEqual([]);
  rawSqlite(path, damage, { foreignKeys: false, checks: false });
  expect(await broken()).toContain(rule);
});
