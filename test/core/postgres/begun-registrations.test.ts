/** Registrations that have begun: of any that would take the same, one has it, until its mint is stored or it is given up. */
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type BegunRegistration,
  openBegunRegistrations,
} from '../../../src/store/postgres/begun-registrations.js';
import { openPostgresStore } from '../../../src/store/postgres/open.js';
import type { Address } from '../../../src/values/address.js';
import { type OwnDatabase, openDatabase } from '../../support/postgres.js';
import { aToken } from '../../support/store.js';

let server: OwnDatabase;
let admin: pg.Client;
let registrations: ReturnType<typeof openBegunRegistrations>;
beforeAll(async () => {
  server = await openDatabase();
  await (await openPostgresStore({ url: server.url })).close();
  admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  registrations = openBegunRegistrations(server.url);
});
afterAll(async () => {
  await registrations.close();
  await admin.end();
  await server.stop();
});
beforeEach(() => admin.query('delete from begun_registrations'));

const FIRST: BegunRegistration = {
  ...{ id: 'first', mint: 'mint', name: 'shop', multisig: 'multisig', vaultIndex: 0 },
  ...{ genesisHash: 'genesis', actor: 'ann@one pid 7' },
};
const OTHER: BegunRegistration = { ...FIRST, id: 'other', mint: 'm', name: 'n', multisig: 's', actor: 'bob' };

describe('openBegunRegistrations', () => {
  it.each([
    ['mint', { mint: 'mint' }],
    ['name', { name: 'shop' }],
    ['vault', { multisig: 'multisig' }],
    ['cluster', { genesisHash: 'of another' }],
  ] as const)('lets nobody begin what is in its way by its %s', async (clash, more) => {
    expect(await registrations.begin(FIRST, null)).toBeNull();
    const wanted = { ...OTHER, ...more };
    const found = { ...FIRST, clash, dateBegun: expect.stringMatching(/^\d{4}-.*Z$/) };
    expect(await registrations.findClash(wanted)).toEqual(found);
    expect(await registrations.begin(wanted, null)).toEqual(found);
    expect([await registrations.isBegun('first'), await registrations.isBegun('other')]).toEqual([
      true,
      false,
    ]);
  });

  it('lets those begin that are in nobody’s way, and the same one as often as it asks', async () => {
    for (const one of [
      FIRST,
      { ...OTHER, multisig: FIRST.multisig, vaultIndex: 1 },
      { ...FIRST, name: 'store' },
    ])
      expect(await registrations.begin(one, null)).toBeNull();
    const { rows } = await admin.query('select id, name from begun_registrations order by id');
    expect(rows).toEqual([
      { id: 'first', name: 'store' },
      { id: 'other', name: 'n' },
    ]);
  });

  it('lets one of many begin that come at once', async () => {
    const all = Array.from({ length: 8 }, () => openBegunRegistrations(server.url));
    const begun = await Promise.all(
      all.map((one, at) =>
        one.begin({ ...OTHER, id: `${at}`, multisig: `${at}`, name: 'same', mint: `${at}` }, null),
      ),
    );
    await Promise.all(all.map((one) => one.close()));
    expect(begun.filter((clash) => clash === null)).toHaveLength(1);
    expect(new Set(begun.flatMap((clash) => clash?.id ?? []))).toEqual(new Set([`${begun.indexOf(null)}`]));
  });

  it('gives the place of one to another only by its id, and only where nobody else is in the way', async () => {
    await registrations.begin(FIRST, null);
    await registrations.begin(OTHER, null);
    const both = { ...FIRST, id: 'third', name: OTHER.name };
    expect(await registrations.begin(both, 'unknown')).toMatchObject({ id: 'first' });
    expect(await registrations.begin(both, 'first')).toMatchObject({ id: 'other', clash: 'name' });
    expect(await registrations.isBegun('first')).toBe(true);
    expect(await registrations.begin({ ...both, name: 'free' }, 'first')).toBeNull();
    expect([await registrations.isBegun('first'), await registrations.isBegun('third')]).toEqual([
      false,
      true,
    ]);
  });

  it('forgets what is given up, and what is stored', async () => {
    await registrations.begin(FIRST, null);
    await registrations.begin(OTHER, null);
    await registrations.forget('first');
    const store = await openPostgresStore({ url: server.url });
    await store.transaction((tx) => tx.tokens.insert(aToken({ mintAddress: OTHER.mint as Address })));
    await store.close();
    expect([await registrations.isBegun('first'), await registrations.isBegun('other')]).toEqual([
      false,
      false,
    ]);
  });

  it('goes on after its connection was cut', async () => {
    await registrations.begin(FIRST, null);
    await admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
    await registrations.isBegun('first').catch(() => undefined);
    expect(await registrations.isBegun('first')).toBe(true);
  });
});
