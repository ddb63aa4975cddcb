/** `flywheel register` into one database from two machines that share only the database and the chain. */
import { existsSync, readdirSync } from 'node:fs';
import { afterAll, expect, it } from 'vitest';
import { sharedDatabase } from '../../e2e/shared-database.js';
import { openDatabase } from '../../support/postgres.js';
import { SQUADS_FEE, SQUADS_TREASURY } from '../../support/registration.js';
import { rpcResult } from '../../support/rpc-call.js';
import { flywheel } from '../../support/spawn.js';

const { project, node, machine, register, close } = await sharedDatabase(await openDatabase());
afterAll(close);

const filesIn = (dataDir: string): readonly string[] =>
  existsSync(dataDir)
    ? readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.json'))
    : [];

const lamports = async (of: string): Promise<bigint> =>
  BigInt((await rpcResult<{ value: number }>(node.url, 'getBalance', of)).value);

it('pays once for what two register at the same moment, and both find it in the end', async () => {
  const words = register(project.token, '--project', 'race', '--json');
  const machines = ['one', 'other'].map((name) => {
    const at = machine(name);
    return { dataDir: at.dataDir, register: () => flywheel(at, ...words) };
  });
  const wallets = [project.operator.address, SQUADS_TREASURY];
  const [operator = 0n, squads = 0n] = await Promise.all(wallets.map(lamports));
  const ended = await Promise.all(machines.map(({ register }) => register()));
  expect(ended.map(({ exit }) => exit)).toContain(0);
  for (const [at, { exit, stderr }] of ended.entries()) {
    if (exit === 0) continue;
    expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error).toBe('ERR_STORE_UNAVAILABLE');
    expect(filesIn(machines[at]?.dataDir ?? '')).toEqual([]);
  }
  const found = [];
  for (const { register } of machines) {
    const { exit, stdout, stderr } = await register();
    expect([exit, exit === 0 ? '' : stderr]).toEqual([0, '']);
    found.push(JSON.parse(stdout).registration);
  }
  expect(found[0]).toEqual(found[1]);
  const rent = await lamports(found[0].multisig);
  // The fee of Squads, a multisig, two token accounts, two signatures.
  const paid = operator - (await lamports(project.operator.address));
  expect([paid, (await lamports(SQUADS_TREASURY)) - squads]).toEqual([
    SQUADS_FEE + rent + 2n * 2_039_280n + 10_000n,
    SQUADS_FEE,
  ]);
}, 60_000);
