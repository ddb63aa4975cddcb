/** The database of a running server is replaced by an older copy: the server writes nothing before it has checked the chain. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Chain } from '../../../src/chain/chain.js';
import { ClusterChain } from '../../../src/chain/rpc/cluster-chain.js';
import { decodeMint } from '../../../src/chain/tokens/accounts.js';
import type { Engine } from '../../../src/engine/engine.js';
import { requireExpired } from '../../../src/engine/gap-watch.js';
import { copyStore } from '../../../src/store/copy.js';
import { openPostgresStore } from '../../../src/store/postgres/open.js';
import type { Store } from '../../../src/store/store.js';
import type { Address } from '../../../src/values/address.js';
import { chainOver } from '../../support/doubles.js';
import { aBurnRequest, engineBeside, openTestEngine, type TestEngine } from '../../support/engine.js';
import { itLong } from '../../support/long.js';
import { type PostgresServer, queryAt, startPostgres } from '../../support/postgres.js';
import { nodeAt } from '../../support/rpc-chain.js';
import { failureOf } from '../../support/service.js';
import { closeTestNodes, startTestNode, type TestNode } from '../../test-cluster/node.js';

/** Slots advance on demand; every blockhash has expired by then. */
const LIFETIME_SLOTS = 400;

let test: TestEngine;
let node: TestNode;
let database: PostgresServer;
let chain: Chain;
let store: Store;
let engine: Engine;
let asked = 0;
let aheadMs = 0;

beforeAll(async () => {
  test = await openTestEngine({ dailyBurn: '1000' });
  node = await startTestNode({ directory: test.dataDir });
  const cluster = new ClusterChain({
    ...{ nodes: [nodeAt(node.url)], timeoutMs: 5_000, maxWaitMs: 5_000, random: () => 0.5, pollMs: 20 },
    clock: { nowMs: () => Date.now() + aheadMs },
    sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
    maxPriorityFeeLamports: 0n,
  });
  chain = chainOver(cluster, {
    history: (account, past) => {
      asked += 1;
      return cluster.history(account, past);
    },
  });
  // A recovery replays only the existing WAL.
  database = await startPostgres('restore_command=/bin/false');
  store = await openPostgresStore({ url: database.url });
  await copyStore(test.store, store);
  await failureOf(requireExpired({ chain, store }));
  expire();
  await requireExpired({ chain, store });
  engine = engineBeside(test, { chain, store });
}, 120_000);
afterAll(async () => {
  await store.close();
  await closeTestNodes();
  await test.destroy();
  await database.stop();
});

function expire(): void {
  node.advance(LIFETIME_SLOTS);
  // A chain believes the finalized height that it was told for 5 seconds.
  aheadMs += 5_000;
}

const burn = async (key: string = randomUUID()): Promise<string> =>
  (await engine.burn(aBurnRequest(1), test.project.call({ idempotencyKey: key }))).value.txHash;

/** Runs statements as a superuser from another database, while the service's database has no connection. */
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

/** By its files: with a copy in the log, PostgreSQL gives out numbers of a sequence twice after a crash. */
const copied = (name: string) => `create database ${name} template postgres strategy file_copy`;

async function dataDirectory(): Promise<string> {
  const [shown] = await queryAt<{ data_directory: string }>(database.url, 'show data_directory');
  return shown?.data_directory ?? '';
}

const supplyNow = async (): Promise<bigint> => {
  const [account] = await chain.getAccounts([test.project.registration.mintAddress as Address]);
  return decodeMint(account ?? null)?.supply ?? -1n;
};

async function acceptAll(): Promise<void> {
  const found = await engine.gaps.find();
  await engine.gaps.accept(found?.gap.transactions ?? 0);
}

/** Again while the connections are cut. */
async function whenThere<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_STORE_UNAVAILABLE') throw error;
    }
  }
}

/** The first call starts the wait for expiry. */
async function afterExpiry<Result>(work: () => Promise<Result>): Promise<Result> {
  expect(await failureOf(whenThere(work))).toMatchObject({ code: 'ERR_UNAVAILABLE' });
  expire();
  return whenThere(work);
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

it('burns nothing twice that was in flight when an older copy took the place of its database', async () => {
  await alone(copied('older'));
  const supply = await supplyNow();
  const held: Uint8Array[] = [];
  const slow = chainOver(chain, {
    submit: async (transactions) => {
      held.push(...transactions);
      return transactions.map(() => null);
    },
  });
  const key = randomUUID();
  const call = test.project.call({ idempotencyKey: key });
  const first = failureOf(
    whenThere(() => engineBeside(test, { chain: slow, store }).burn(aBurnRequest(1), call)),
  );
  await expect.poll(() => held.length, { timeout: 20_000 }).toBe(1);
  await alone(
    'drop database if exists newer',
    'alter database postgres rename to newer',
    'alter database older rename to postgres',
  );

  const failure = await failureOf(whenThere(() => burn(key)));
  expect(failure).toMatchObject({ code: 'ERR_UNAVAILABLE', status: 503 });
  expect(failure.message).toContain('sent before may still land');
  expect(failure.options.retryAfterSeconds).toBeGreaterThan(1);
  // Administration sees no more than other calls before the wait is over.
  expect(await failureOf(engine.gaps.find())).toMatchObject({ code: 'ERR_UNAVAILABLE' });
  expect(await supplyNow()).toBe(supply);
  await chain.submit(held);
  expect(await failureOf(afterExpiry(() => burn(key)))).toMatchObject({
    code: 'ERR_STORE_BEHIND',
  });
  expect(await first).toMatchObject({
    code: expect.stringMatching(/^ERR_(DUPLICATE_IDEMPOTENCY_KEY|STORE_UNAVAILABLE|CREATE_API)/),
  });
  await acceptAll();
  expect(await supplyNow()).toBe(supply - 1_000_000n);
});

itLong(
  'waits once where the database is recovered onto another line of history, and not after a restart',
  async () => {
    await burn();
    const signal = join(await dataDirectory(), 'recovery.signal');
    await database.restart(async () => writeFileSync(signal, ''));
    expect(await failureOf(whenThere(() => burn()))).toMatchObject({ code: 'ERR_UNAVAILABLE' });
    await database.restart(async () => undefined);
    expect(await failureOf(whenThere(() => burn()))).toMatchObject({ code: 'ERR_UNAVAILABLE' });
    await afterExpiry(() => burn());
    await database.restart(async () => undefined);
    await whenThere(() => burn());
  },
);

itLong(
  'waits once more where the database that another took the place of is put back as it was',
  async () => {
    await burn();
    await alone(
      copied('other'),
      'alter database postgres rename to first',
      'alter database other rename to postgres',
    );
    await afterExpiry(() => burn());
    await alone('alter database postgres rename to second', 'alter database first rename to postgres');
    const failure = await failureOf(whenThere(() => burn()));
    expect(failure.message).toContain('sent before may still land');
    expect(await failureOf(afterExpiry(() => burn()))).toMatchObject({ code: 'ERR_STORE_BEHIND' });
    await acceptAll();
    await burn();
  },
);

itLong('finds all that is missing where what the copy has on its way lands last', async () => {
  const held: Uint8Array[] = [];
  const slow = chainOver(chain, {
    submit: async (transactions) => {
      held.push(...transactions);
      return transactions.map(() => null);
    },
  });
  const first = Promise.allSettled([
    engineBeside(test, { chain: slow, store }).burn(aBurnRequest(1), test.project.call()),
  ]);
  await expect.poll(() => held.length, { timeout: 20_000 }).toBe(1);
  await alone(copied('"then"'));
  for (let count = 0; count < 25; count += 1) await whenThere(() => burn());
  await chain.submit(held);
  await first;
  await alone('alter database postgres rename to lost', 'alter database "then" rename to postgres');
  const failure = await failureOf(afterExpiry(() => burn()));
  expect(failure.message).toContain('has 25 burns');
  await acceptAll();
});
