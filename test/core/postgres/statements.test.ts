/** How much is asked of a database for one burn under a cap: each statement, those that begin and end transactions included. */
import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { aBurnRequest, openTestEngine, type TestEngine } from '../../support/engine.js';
import { openDatabaseStore } from '../../support/postgres.js';
import type { StoreUnderTest } from '../../support/store.js';

const MOST = 20;

let database: StoreUnderTest;
let test: TestEngine;
beforeAll(async () => {
  database = await openDatabaseStore();
  test = await openTestEngine({ dailyBurn: '1000' }, { store: database.store });
});
afterAll(async () => {
  await test.destroy();
  await database.dispose();
});

it(`asks for no more than ${MOST} statements`, async () => {
  await test.engine.burn(aBurnRequest(1), test.project.call());
  const asked = vi.spyOn(pg.Client.prototype, 'query');
  await test.engine.burn(aBurnRequest(1), test.project.call({ idempotencyKey: 'one-more' }));
  const statements = asked.mock.calls.map(([statement]) => String(statement));
  asked.mockRestore();
  expect(statements.length, statements.join('\n')).toBeLessThanOrEqual(MOST);
});
