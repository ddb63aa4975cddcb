/** `flywheel register` into one database from two machines that share only the database and the chain. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type OwnDatabase, openDatabase } from '../../support/postgres.js';
import { SQUADS_FEE, SQUADS_TREASURY, type TestProject, testProject } from '../../support/registration.js';
import { rpcResult } from '../../support/rpc-call.js';
import { emptyDirectory, flywheel } from '../../support/spawn.js';
import { closeTestNodes, startTestNode, type TestNode } from '../../test-cluster/node.js';

let project: TestProject;
let node: TestNode;
let postgres: OwnDatabase;
beforeAll(async () => {
  project = await testProject();
  node = await startTestNode({
    directory: project.directory,
    ...{ pace: 'clock', slotMs: 10, confirmedAfter: 1, finalizedAfter: 4 },
  });
  postgres = await openDatabase();
}, 120_000);
afterAll(async () => {
  await closeTestNodes();
  await postgres.stop();
});

const filesIn = (dataDir: string): readonly string[] =>
  existsSync(dataDir)
    ? readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.json'))
    : [];

const lamports = async (of: string): Promise<bigint> =>
  BigInt((await rpcResult<{ value: number }>(node.url, 'getBalance', of)).value);

it('pays once for what two register at the same moment, and both find it in the end', async () => {
  const machines = [emptyDirectory(), emptyDirectory()].map((home) => {
    const dataDir = join(home, 'data');
    const register = () =>
      flywheel(
        {
          home,
          env: {
            ...{ FLYWHEEL_DATA_DIR: dataDir, FLYWHEEL_DATABASE_URL: postgres.url },
            FLYWHEEL_RPC_URL: node.url,
          },
        },
        ...['register', '--cluster', node.url, '--project', 'race', '--mint', project.token.mint],
        ...[
          '--owner',
          project.owner.address,
          '--operator-keypair',
          project.files.operator,
          '--yes',
          '--json',
        ],
      );
    return { dataDir, register };
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
