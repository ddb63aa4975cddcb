/** `flywheel db copy` as a program: from a directory into PostgreSQL, and how each side refers to the other afterwards. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { flywheelHere } from '../support/flywheel-here.js';
import { itLong } from '../support/long.js';
import { openDatabase } from '../support/postgres.js';
import { emptyDirectory, type Spawned } from '../support/spawn.js';
import { projectOnCluster } from '../test-cluster/directory.js';

const home = emptyDirectory();
const machine = join(home, 'machine');
const { test, node, dataDir: source, close } = await projectOnCluster();
const postgres = await openDatabase();
const inDirectory: Env = { FLYWHEEL_DATA_DIR: source };
const inDatabase: Env = { FLYWHEEL_DATA_DIR: machine, FLYWHEEL_DATABASE_URL: postgres.url };
const copying: Env = { FLYWHEEL_DATA_DIR: source, FLYWHEEL_DATABASE_URL: postgres.url };

beforeAll(async () => {
  cpSync(join(source, 'keys'), join(machine, 'keys'), { recursive: true });
  for (const amount of ['1', '2', '3']) await burn(inDirectory, amount);
});
afterAll(async () => {
  await postgres.stop();
  await close();
});

type Env = Record<string, string>;

const run = (env: Env, ...words: string[]): Promise<Spawned> =>
  flywheelHere(
    { home, env: { FLYWHEEL_API_KEY: test.project.key.reveal(), FLYWHEEL_RPC_URL: node.url, ...env } },
    ...words,
  );

async function answer<Value>(env: Env, ...words: string[]): Promise<Value> {
  const { exit, stdout, stderr } = await run(env, ...words);
  expect([exit, stderr]).toEqual([0, expect.any(String)]);
  return JSON.parse(stdout) as Value;
}

const BURN = ['burn', '--yes', '--type', 'WATCH_AD', '--proof', '{}', '--timeout', '5', '--amount'];
const burn = (env: Env, amount: string) => answer<{ txHash: string }>(env, ...BURN, amount);

it('copies everything once, and writes nothing there until all has expired that may be on its way', async () => {
  expect((await run(inDatabase, 'db', 'copy')).stderr).toContain('ERR_LOCAL_NOT_FOUND');
  const copied = await answer<{ rows: number; wasThere: boolean }>(copying, 'db', 'copy');
  expect(copied).toMatchObject({ wasThere: false });
  expect(await answer(copying, 'db', 'copy')).toEqual({ ...copied, wasThere: true });
  const early = await run(inDatabase, ...BURN, '4');
  expect([early.exit, early.stderr]).toEqual([6, expect.stringContaining('ERR_UNAVAILABLE')]);
  const { heldUntilBlock } = await answer<{ heldUntilBlock: string | null }>(inDatabase, 'db', 'status');
  expect(Number(heldUntilBlock)).toBeGreaterThan(0);
  expect(await answer(inDatabase, 'history')).toHaveLength(3);
});

itLong('lets nobody accept the gap twice that the directory made since, and counts it', async () => {
  await burn(inDirectory, '5');
  while ((await run(inDatabase, 'db', 'accept-gap')).stderr.includes('may still land')) await setTimeout(100);
  const openGaps = async () => (await answer<{ openGaps: number }>(inDatabase, 'db', 'status')).openGaps;
  const check = async () => {
    const { exit, stdout } = await run(inDatabase, 'db', 'check', '--chain');
    const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean }[] };
    return { exit, wrong: checks.filter(({ ok }) => !ok).map(({ name }) => name.split(' ')[0]) };
  };
  expect(await check()).toEqual({ exit: 9, wrong: ['known'] });
  expect((await run(inDatabase, 'db', 'accept-gap', '--yes')).exit).toBe(2);
  expect(await openGaps()).toBe(1);
  const ends = await Promise.all(
    ['one', 'other'].map(() => run(inDatabase, 'db', 'accept-gap', '--yes', '--expect', '1')),
  );
  expect(ends.map(({ exit }) => exit)).toContain(0);
  for (const { exit, stderr } of ends)
    if (exit !== 0) expect([exit, stderr]).toEqual([2, expect.stringContaining('ERR_INPUT_INVALID')]);
  const acts = await answer<readonly { action: string }[]>(inDatabase, 'audit');
  expect(acts.map(({ action }) => action).filter((action) => action === 'gap.accept')).toHaveLength(1);
  expect([await check(), await openGaps()]).toEqual([{ exit: 0, wrong: [] }, 0]);
  const { today } = await answer<{ today: { burn: { used: string } } }>(inDatabase, 'vault');
  expect(today.burn.used).toBe('11');
});
