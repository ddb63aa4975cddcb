/** Engines of several machines on one PostgreSQL: a project has one writer at a time, and projects do not wait for each other. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { EngineParts } from '../../../src/engine/deps.js';
import { createEngine, type Engine } from '../../../src/engine/engine.js';
import { Leases } from '../../../src/engine/lease.js';
import type { Store } from '../../../src/store/store.js';
import { chainOver } from '../../support/doubles.js';
import { aBurnRequest, openTestEngine, type TestEngine, type TestProject } from '../../support/engine.js';
import { itLong } from '../../support/long.js';
import { openPostgresStoreIn } from '../../support/postgres.js';
import type { StoreUnderTest } from '../../support/store.js';
import { databaseOfFile } from './database-of-file.js';

const server = databaseOfFile();
let database: StoreUnderTest;
let test: TestEngine;
const open = openPostgresStoreIn(() => server.url);
beforeEach(async () => {
  database = await open();
  test = await openTestEngine({ dailyBurn: '10' }, { store: database.store });
});
afterEach(async () => {
  await test.destroy();
  await database.dispose();
});

async function machine(
  id: string,
  parts: Partial<EngineParts> = {},
): Promise<Engine & { readonly store: Store }> {
  const store = await database.openAgain();
  const leases = new Leases(id);
  return Object.assign(createEngine({ ...test.deps, store, leases, ...parts }), { store });
}

const tokenOf = ({ registration }: TestProject): string => registration.tokenId;

it('lets a project write while a transaction of another is held open, and its own wait', async () => {
  const other = await test.register();
  const [here, there] = [await machine('here'), await machine('there')];
  const tokenId = tokenOf(test.project);
  const hasty = await database.openAgain({ busyTimeoutMs: 1_000 });
  await here.store.transaction(
    async (tx) => {
      await tx.usage.latestDay(tokenId);
      const { value } = await there.burn(aBurnRequest(1), other.call());
      expect(value).toMatchObject({ result: 'SUCCESS' });
      // Also within one process.
      await here.burn(aBurnRequest(1), other.call());
      const own = hasty.transaction(async () => undefined, { tokenId });
      await expect(own).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
      // A transaction without a project waits for all of them.
      const all = hasty.transaction(async () => undefined);
      await expect(all).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
    },
    { tokenId },
  );
  await here.burn(aBurnRequest(1), test.project.call());
  expect(await database.raw('select distinct token_id from burns')).toHaveLength(2);
});

itLong('lets nobody write beside what is of no project', async () => {
  const hasty = await database.openAgain({ busyTimeoutMs: 1_000 });
  const tokenId = tokenOf(test.project);
  await database.store.transaction(async () => {
    for (const of of [{ tokenId }, { tokenId: null }, undefined]) {
      const blocked = hasty.transaction(async () => undefined, of);
      await expect(blocked).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
    }
  });
  await hasty.transaction(async () => undefined, { tokenId });
});

it('shares what a dead machine has left among the others, each of it settled once', async () => {
  const dead = await machine('dead', {
    chain: chainOver(test.chain, {
      submit: async () => {
        throw new Error('The machine is gone.');
      },
    }),
  });
  const projects = [test.project, await test.register()];
  const left = projects.flatMap((project) =>
    [1, 2, 3, 4].map(() => dead.burn(aBurnRequest(1), project.call())),
  );
  await Promise.allSettled(left);
  await database.raw(`update requests set holder = 'dead/1/1', lease_until_ms = 1 where status = 'running'`);
  const machines = await Promise.all(['a', 'b', 'c'].map((id) => machine(id)));
  const reconciled = await Promise.all(machines.map((engine) => engine.reconcile()));
  expect(reconciled.reduce((sum, { burns }) => sum + burns, 0)).toBe(8);
  const statuses = await database.raw('select distinct status from burns');
  expect(statuses).toEqual([{ status: 'FINAL' }]);
  expect((await test.engine.status()).burned).toBe('4');
});
