/** A cluster that rolls back confirmed transactions: the next command reports the rollback, and the work still happens once. */
import { setTimeout } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { flywheelHere } from '../support/flywheel-here.js';
import { emptyDirectory } from '../support/spawn.js';
import { projectOnCluster } from '../test-cluster/directory.js';

/** Offset of the supply in a mint account. */
const SUPPLY_AT = 36;

const { test, node, dataDir, close } = await projectOnCluster({ finalizedAfter: 60 });
afterAll(close);

/** From the ledger, which is ahead of the cluster's confirmed state. */
async function supply(): Promise<bigint> {
  const [mint] = await test.chain.getAccounts([test.project.registration.mintAddress as never]);
  return Buffer.from(mint?.data ?? []).readBigUInt64LE(SUPPLY_AT);
}

it('a burn that is taken back is said to be, is pending, and burns once', async () => {
  const home = emptyDirectory();
  const env = { FLYWHEEL_API_KEY: test.project.key.reveal(), FLYWHEEL_DATA_DIR: dataDir };
  const run = (...words: string[]) => flywheelHere({ home, env }, ...words);
  const before = await supply();
  node.faults.set([{ fault: 'rollback', times: 1, slots: 40, lost: true }]);
  const burn = ['burn', '--type', 'PRODUCT_BUY', '--proof', '{"order":1}', '--amount', '3'];
  const burned = await run(...burn, '--yes');
  expect([burned.exit, burned.stderr]).toEqual([0, '']);
  expect(await supply()).toBe(before);

  let pending = await run('pending');
  for (; pending.stdout.trim() === '[]'; pending = await run('pending')) await setTimeout(100);
  expect(JSON.parse(pending.stdout)).toMatchObject([{ operation: 'service burn', outcome: 'unknown' }]);
  expect(pending.stderr).toContain('A fork of the chain rolled back 1 confirmed');

  expect((await run('pending', 'resume')).exit).toBe(0);
  expect(before - (await supply())).toBe(3_000_000n);
  const items = JSON.parse((await run('history')).stdout) as { status: string; txHash: string }[];
  expect(items).toMatchObject([{ status: 'SUCCESS' }]);
  const [record] = await test.chain.lookUp([items[0]?.txHash ?? '']);
  expect(record).toMatchObject({ error: null });
  expect((await run('pending')).stdout.trim()).toBe('[]');
}, 60_000);
