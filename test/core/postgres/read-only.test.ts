/** A database that temporarily refuses writes, as a standby does after a failover. */
import { afterAll, describe, expect, it } from 'vitest';
import { openPostgresStore } from '../../../src/store/postgres/open.js';
import type { Store } from '../../../src/store/store.js';
import { startPostgres } from '../../support/postgres.js';
import { databaseOfFile } from './database-of-file.js';

const server = databaseOfFile(startPostgres);
const opened: Store[] = [];
// Before the server stops: the latest hook runs first.
afterAll(async () => {
  for (const store of opened) await store.close();
});

const bind = (to: Store) => to.transaction(({ lineages }) => lineages.bind('genesis'));

async function open(schema: 'update' | 'require'): Promise<Store> {
  const store = await openPostgresStore({ url: server.url, schema });
  opened.push(store);
  return store;
}

const TAKES_NO_WRITES = {
  code: 'ERR_STORE_UNAVAILABLE',
  message: expect.stringContaining('accepts no writes'),
};

/** Applies to new sessions; existing ones are terminated. */
async function setReadOnly(to: 'on' | 'off'): Promise<void> {
  await server.query(`alter database postgres set default_transaction_read_only = ${to}`);
}
const endOthers = () =>
  server.query('select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()');

describe('a database that takes no writes', () => {
  it('is unavailable to who serves, for reads too, and its connections are left when it does again', async () => {
    const store = await open('update');
    await store.progress();
    await setReadOnly('on');
    await endOthers();
    // The first use of a terminated connection fails.
    await store.progress().catch(() => undefined);
    await expect(store.progress()).rejects.toMatchObject(TAKES_NO_WRITES);
    await expect(bind(store)).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
    await expect(bind(store)).rejects.toMatchObject(TAKES_NO_WRITES);

    const reader = await open('require');
    expect(await reader.progress()).toMatchObject({ genesis: null });
    await expect(bind(reader)).rejects.toMatchObject(TAKES_NO_WRITES);

    await setReadOnly('off');
    await bind(store);
    expect(await store.progress()).toMatchObject({ genesis: 'genesis' });
  });
});
