/** Counts the statements of one burn under a cap over HTTP, including begin, commit and the rate limit. */
import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { openPostgresRateCounts } from '../../../src/store/postgres/rate-counts.js';
import { aBurnRequest, openTestEngine, type TestEngine } from '../../support/engine.js';
import { type RunningServer, startServer } from '../../support/http.js';
import { ask } from '../../support/http-serve.js';
import { type DatabaseUnderTest, openDatabaseStore } from '../../support/postgres.js';

/** Two statements record finality, which happens later on a cluster. */
const MOST = 15;

let database: DatabaseUnderTest;
let test: TestEngine;
let server: RunningServer;
let rateCounts: ReturnType<typeof openPostgresRateCounts>;
beforeAll(async () => {
  database = await openDatabaseStore();
  test = await openTestEngine({ dailyBurn: '1000' }, { store: database.store });
  rateCounts = openPostgresRateCounts({ url: database.url });
  const { engine } = test;
  server = await startServer({ engine, rateCounts });
});
afterAll(async () => {
  await server.closeGracefully(1_000);
  await rateCounts.close();
  await test.destroy();
  await database.dispose();
});

it(`asks for no more than ${MOST} statements`, async () => {
  const burn = async (idempotencyKey: string): Promise<number> =>
    (
      await ask(`${server.url}/v1/tokenomics/burn`, test.project.key.reveal(), {
        ...{ body: aBurnRequest(1), idempotencyKey },
      })
    ).status;
  expect(await burn('one')).toBe(200);
  const asked = vi.spyOn(pg.Client.prototype, 'query');
  expect(await burn('one-more')).toBe(200);
  const statements = (asked.mock.calls as unknown[][]).map(([one]) =>
    typeof one === 'string' ? one : (one as { text: string }).text,
  );
  asked.mockRestore();
  expect(statements.length, statements.join('\n')).toBeLessThanOrEqual(MOST);
});
