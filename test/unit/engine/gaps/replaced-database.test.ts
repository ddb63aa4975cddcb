/** The database is replaced by an older copy under a server that goes on: it writes nothing before it has asked the chain. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Chain } from '../../../../src/chain/chain.js';
import { createRpcChain } from '../../../../src/chain/rpc/rpc-chain.js';
import type { Engine } from '../../../../src/engine/engine.js';
import { openPostgresStore } from '../../../../src/store/postgres/open.js';
import type { Store } from '../../../../src/store/store.js';
import { exportStore } from '../../../../src/store/transfer/export.js';
import { linesOf } from '../../../../src/store/transfer/format.js';
import { importStore } from '../../../../src/store/transfer/import.js';
import { systemClock } from '../../../../src/values/time.js';
import { removeDirectories } from '../../../support/chain.js';
import { chainOver } from '../../../support/doubles.js';
import { aBurnRequest, engineBeside, openTestEngine, type TestEngine } from '../../../support/engine.js';
import { closeTestNodes, startTestNode } from '../../../support/local-rpc.js';
import { type PostgresServer, startPostgres } from '../../../support/postgres.js';
import { nodeAt } from '../../../support/rpc-chain.js';
import { failureOf } from '../../../support/service.js';

const SLOTS = { pace: 'clock', slotMs: 10, confirmedAfter: 1, finalizedAfter: 3 } as const;

let test: TestEngine;
let database: PostgresServer;
let chain: Chain;
let store: Store;
let engine: Engine;
let asked = 0;

beforeAll(async () => {
  test = await openTestEngine({ dailyBurn: '1000' });
  const node = await startTestNode({ directory: test.dataDir, ...SLOTS });
  const cluster = createRpcChain({
    ...{ nodes: [nodeAt(node.url)], timeoutMs: 5_000, maxWaitMs: 5_000, random: () => 0.5, pollMs: 20 },
    clock: systemClock,
    sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
    maxPriorityFeeLamports: 0n,
  }).chain;
  const { newestOf } = cluster;
  chain = chainOver(cluster, {
    ...(newestOf && {
      newestOf: (account, page) => {
        asked += 1;
        return newestOf(account, page);
      },
    }),
  });
  database = await startPostgres();
  store = await openPostgresStore({ url: database.url });
  const texts: string[] = [];
  await exportStore(test.store, async (text) => void texts.push(text));
  await importStore(
    store,
    linesOf(
      (async function* () {
        yield* texts;
      })(),
    ),
  );
  engine = engineBeside(test, { chain, store });
}, 120_000);
afterAll(async () => {
  await store.close();
  await chain.close();
  await closeTestNodes();
  await test.destroy();
  await database.stop();
  removeDirectories();
});

const burn = async (key: string = randomUUID()): Promise<string> =>
  (await engine.burn(aBurnRequest(1), test.project.call({ idempotencyKey: key }))).value.txHash;

/** Somebody with all rights, in another database; nobody else is connected to that of the service meanwhile. */
async function alone(...statements: readonly string[]): Promise<void> {
  const url = new URL(database.url);
  url.pathname = '/template1';
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  const allow = (isAllowed: boolean) => `alter database postgres with allow_connections ${isAllowed}`;
  await client.query(allow(false));
  await client.query(
    "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = 'postgres'",
  );
  for (const statement of statements) await client.query(statement);
  await client.query(allow(true));
  await client.end();
}

/** Its connections were cut, so that it may have to be asked more than once. */
async function whenThere<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_STORE_UNAVAILABLE') throw error;
    }
  }
}

it('asks the chain once more after its database was restarted, and goes on', async () => {
  await burn();
  const before = asked;
  await burn();
  expect(asked).toBe(before);
  await database.restart(async () => undefined);
  await whenThere(() => burn());
  expect(asked).toBeGreaterThan(before);
});

it('burns nothing twice on an older copy that takes the place of its database', async () => {
  await alone('create database older template postgres');
  const key = randomUUID();
  await whenThere(() => burn(key));
  await alone('alter database postgres rename to newer', 'alter database older rename to postgres');
  const failure = await failureOf(whenThere(() => burn(key)));
  expect(failure).toMatchObject({ code: 'ERR_STORE_BEHIND' });
  expect(failure.message).toContain('knows 1 burns');
});
