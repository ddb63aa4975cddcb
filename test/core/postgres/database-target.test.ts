/** A registration into a database, where another came first between its plan and its beginning: it is refused, and leaves nothing. */
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resolveSettings } from '../../../src/cli/config/resolve.js';
import { databaseOf } from '../../../src/compose/data-place.js';
import { DatabaseTarget } from '../../../src/compose/database-target.js';
import type { Landed, ToBegin } from '../../../src/compose/registration-target.js';
import { openPostgresStore } from '../../../src/store/postgres/open.js';
import type { Store } from '../../../src/store/store.js';
import type { Address } from '../../../src/values/address.js';
import { testCli } from '../../support/in-process.js';
import { type OwnDatabase, openDatabase } from '../../support/postgres.js';
import { emptyDirectory } from '../../support/spawn.js';
import { aFlywheel, aToken } from '../../support/store.js';

let server: OwnDatabase;
let store: Store;
let admin: pg.Client;
let target: DatabaseTarget;
beforeEach(async () => {
  server = await openDatabase();
  store = await openPostgresStore({ url: server.url });
  admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  const { context } = testCli({ env: { FLYWHEEL_DATABASE_URL: server.url } });
  const dataDir = emptyDirectory();
  const settings = resolveSettings(context, { dataDir, project: 'shop' });
  const address = databaseOf(settings);
  if (address === null) throw new TypeError('The settings name a database.');
  target = new DatabaseTarget({ ambient: context, settings, cluster: 'devnet', dataDir }, address);
});
afterEach(async () => {
  await admin.end();
  await store.close();
  await server.stop();
});

const PLANNED: ToBegin = {
  ...{ id: 'own', takeOver: null },
  plan: { symbol: 'SHOP', cluster: { name: null, genesisHash: 'genesis' } },
  places: {
    ...{ mint: 'Mint9' as Address, owner: 'Owner9' as Address, operator: 'Operator9' as Address },
    ...{ burnWallet: 'BurnWallet9' as Address, multisig: 'Multisig9' as Address, vaultIndex: 0 },
  },
};

const register = (name: string, multisig = 'Multisig1') =>
  store.transaction(async (tx) => {
    await tx.tokens.insert(aToken());
    await tx.flywheels.insert(aFlywheel({ name, multisig: multisig as Address }));
  });

async function refusal() {
  const held = await target.hold(PLANNED);
  const begun = (await admin.query('select id from begun_registrations')).rows;
  expect(begun).toEqual([]);
  return 'refusal' in held ? held.refusal : undefined;
}

describe('a registration into a database', () => {
  it('is refused where its name was registered after it was planned', async () => {
    await target.named(PLANNED);
    await register('shop');
    expect(await refusal()).toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      message: 'The project shop was registered meanwhile by another process; this command has sent nothing.',
    });
  });

  it('is refused where its vault was registered after it was planned', async () => {
    await target.named(PLANNED);
    await register('other', 'Multisig9');
    expect(await refusal()).toMatchObject({
      code: 'ERR_LOCAL_ALREADY_EXISTS',
      message: 'The project other is registered here already, with the same vault; nothing was changed.',
      hint: '`flywheel vault --project other` shows it. Another project takes a name, a mint and a vault of its own.',
    });
  });

  it('is refused where the database has become one of another cluster', async () => {
    await target.named(PLANNED);
    await store.bind('genesis of another');
    expect(await refusal()).toMatchObject({ code: 'ERR_CHAIN_MISMATCH' });
  });

  it('says what stays on the chain where it is refused once that was made', async () => {
    await target.named(PLANNED);
    await register('other', 'Multisig9');
    const landed = { ...PLANNED, wanted: { scopes: [] } } as unknown as Landed;
    await expect(target.keep(landed, false)).rejects.toMatchObject({
      code: 'ERR_LOCAL_ALREADY_EXISTS',
      message: expect.stringContaining(
        'nothing of this was stored, and what was made on the chain for it stays there',
      ),
    });
  });

  it('holds what it will take, says when that is lost, and lets go of it', async () => {
    await target.named(PLANNED);
    const held = await target.hold(PLANNED);
    if ('refusal' in held) throw held.refusal;
    await held.check();
    await held.release();
    await expect(held.check()).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      message: expect.stringContaining('nothing more is sent'),
    });
    await held.close();
  });
});
