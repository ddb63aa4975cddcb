/** Two projects of one database, on a cluster that takes back what it had confirmed: each hears only of its own. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createRpcChain } from '../../../src/chain/rpc/cluster-chain.js';
import { decodeMint } from '../../../src/chain/tokens/accounts.js';
import { dataFiles } from '../../../src/compose/local-config.js';
import { copyStore } from '../../../src/store/copy.js';
import { openPostgresStore } from '../../../src/store/postgres/open.js';
import { address } from '../../../src/values/address.js';
import { systemClock } from '../../../src/values/time.js';
import { removeDirectories } from '../../support/chain.js';
import { openTestEngine, type TestEngine, type TestProject } from '../../support/engine.js';
import { untilExpired } from '../../support/in-flight.js';
import { closeTestNodes, startTestNode, type TestNode } from '../../support/local-rpc.js';
import { openDatabase } from '../../support/postgres.js';
import { rpcResult } from '../../support/rpc-call.js';
import { nodeAt } from '../../support/rpc-chain.js';
import { emptyDirectory, flywheel } from '../../support/spawn.js';

let test: TestEngine;
let other: TestProject;
let node: TestNode;

beforeAll(async () => {
  test = await openTestEngine();
  other = await test.register();
  node = await startTestNode({
    ...{ directory: test.dataDir, isDataDirectory: true, pace: 'clock' },
    ...{ slotMs: 50, confirmedAfter: 1, finalizedAfter: 60 },
  });
});
afterAll(async () => {
  await closeTestNodes();
  await test.destroy();
  removeDirectories();
});

const supply = async ({ registration }: TestProject = test.project): Promise<bigint> => {
  const [mint] = await test.chain.getAccounts([address(registration.mintAddress)]);
  return decodeMint(mint ?? null)?.supply ?? 0n;
};

it('of two projects of a database each hears only of its own, and carries on only that', async () => {
  const home = emptyDirectory();
  const dataDir = join(home, 'machine');
  cpSync(dataFiles(test.dataDir).keys, dataFiles(dataDir).keys, { recursive: true });
  const { chain } = createRpcChain({
    ...{ nodes: [nodeAt(node.url)], timeoutMs: 5_000, maxWaitMs: 5_000, random: () => 0.5, pollMs: 50 },
    ...{ clock: systemClock, sleep: (ms) => setTimeout(ms), maxPriorityFeeLamports: 0n },
  });
  const postgres = await openDatabase();
  const store = await openPostgresStore({ url: postgres.url });
  try {
    await copyStore(test.store, store);
    await store.bind(await rpcResult<string>(node.url, 'getGenesisHash'));
    await untilExpired({ store, chain });
    const env = {
      FLYWHEEL_DATA_DIR: dataDir,
      FLYWHEEL_DATABASE_URL: postgres.url,
      FLYWHEEL_RPC_URL: node.url,
    };
    const run = (by: TestProject, ...words: string[]) =>
      flywheel({ home, env: { ...env, FLYWHEEL_API_KEY: by.key.reveal() } }, ...words);
    const before = await supply(other);
    node.faults.set([{ fault: 'rollback', times: 1, slots: 40, lost: true }]);
    const burned = await run(
      other,
      'burn',
      '--yes',
      '--type',
      'PRODUCT_BUY',
      '--proof',
      '{"order":2}',
      '--amount',
      '2',
    );
    expect([burned.exit, burned.stderr]).toEqual([0, '']);
    const confirmed = await store.read((tx) => tx.burns.confirmed(null));
    expect(confirmed).toHaveLength(1);
    while ((await chain.trace(confirmed))[0]?.kind !== 'never') await setTimeout(50);

    for (const [words, stdout] of [
      [['pending'], '[]'],
      [['pending', 'resume'], ''],
    ] as const) {
      const ofTheFirst = await run(test.project, ...words);
      expect([ofTheFirst.exit, ofTheFirst.stdout.trim()]).toEqual([0, stdout]);
      expect(ofTheFirst.stderr).not.toContain('taken back');
    }
    expect(await store.read((tx) => tx.burns.confirmed(null))).toEqual(confirmed);

    const own = await run(other, 'pending');
    expect(own.stderr).toContain('A fork of the chain rolled back 1 confirmed');
    expect(JSON.parse(own.stdout)).toMatchObject([{ operation: 'service burn' }]);
    expect((await run(test.project, 'pending')).stdout.trim()).toBe('[]');
    expect((await run(other, 'pending', 'resume')).exit).toBe(0);
    expect(before - (await supply(other))).toBe(2_000_000n);
  } finally {
    await store.close();
    await postgres.stop();
  }
}, 120_000);
