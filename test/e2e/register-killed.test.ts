/** `flywheel register`, killed at each thing by which it leaves a trace: the same command goes on, and what it costs is paid once. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { address } from '../../src/values/address.js';
import { removeDirectories } from '../support/chain.js';
import { closeTestNodes, startTestNode, type TestNode } from '../support/local-rpc.js';
import {
  SQUADS_FEE,
  SQUADS_TREASURY,
  type TestProject,
  testProject,
  type Wallet,
} from '../support/registration.js';
import { rpcChain } from '../support/rpc-chain.js';
import { emptyDirectory, flywheel } from '../support/spawn.js';

/** Every so many points are tried; `KILL_EVERY=1` tries all. */
const EVERY = Number(process.env['KILL_EVERY'] ?? 11);
/** More than there are. */
const MAX_POINTS = 160;
const POINTS = Array.from({ length: Math.floor(MAX_POINTS / EVERY) }, (_, index) => 1 + index * EVERY);
const HOOK = resolve('test/support/kill-points.cjs');

let project: TestProject;
let node: TestNode;

beforeAll(async () => {
  project = await testProject({ others: POINTS.length });
  node = await startTestNode({
    directory: project.directory,
    ...{ pace: 'clock', slotMs: 20, confirmedAfter: 1, finalizedAfter: 4 },
  });
}, 120_000);
afterAll(async () => {
  await closeTestNodes();
  removeDirectories();
});

const lamports = async (of: string): Promise<bigint> =>
  (await rpcChain([node.url]).chain.getAccounts([address(of)]))[0]?.lamports ?? 0n;

function register(home: string, { file }: Pick<Wallet, 'file'>, env: Record<string, string> = {}) {
  return flywheel(
    { home, env: { FLYWHEEL_DATA_DIR: join(home, 'data'), ...env } },
    ...['register', '--cluster', node.url, '--mint', project.token.mint, '--owner', project.owner.address],
    ...['--operator-keypair', file, '--yes', '--json'],
  );
}

const killedAt = (point: number, countFile?: string): Record<string, string> => ({
  NODE_OPTIONS: `--require ${HOOK}`,
  KILL_POINT: String(point),
  ...(countFile === undefined ? {} : { KILL_COUNT_FILE: countFile }),
});

describe('a registration that is killed', () => {
  it('has fewer points than are tried', async () => {
    const home = emptyDirectory();
    const countFile = join(home, 'count');
    const { exit } = await register(home, { file: project.files.operator }, killedAt(0, countFile));
    expect(exit).toBe(0);
    const points = Number(readFileSync(countFile, 'utf8'));
    expect(points).toBeGreaterThan(30);
    expect(points).toBeLessThan(MAX_POINTS);
  }, 60_000);

  it.each(POINTS.map((point, index) => [point, index] as const))(
    'at point %i goes on where it was, and pays once',
    async (point, index) => {
      const operator = project.others[index] as Wallet;
      const home = emptyDirectory();
      const dataDir = join(home, 'data');
      const [held, taken] = [await lamports(operator.signer.address), await lamports(SQUADS_TREASURY)];
      await register(home, operator, killedAt(point));
      const { exit, stdout, stderr } = await register(home, operator);
      expect([exit, stderr]).toEqual([0, expect.any(String)]);
      const { registration } = JSON.parse(stdout) as {
        registration: { multisig: string; burnWallet: string };
      };
      expect((await lamports(SQUADS_TREASURY)) - taken).toBe(SQUADS_FEE);
      const multisigRent = await lamports(registration.multisig);
      // Two token accounts, two signatures; nothing twice.
      expect(held - (await lamports(operator.signer.address))).toBe(
        SQUADS_FEE + multisigRent + 2n * 2_039_280n + 10_000n,
      );
      expect(existsSync(join(dataDir, 'registration.json'))).toBe(false);
      expect(readdirSync(join(dataDir, 'keys'))).toContain(`${operator.signer.address}.json`);
      expect(readdirSync(join(dataDir, 'keys'))).toContain(`${registration.burnWallet}.json`);
      const status = await flywheel({ home }, 'local', 'status', '--data-dir', dataDir, '--json');
      expect(JSON.parse(status.stdout)).toMatchObject({ multisig: registration.multisig });
      const key = readFileSync(join(dataDir, 'api-key'), 'utf8').trim();
      const env = { FLYWHEEL_API_KEY: key, FLYWHEEL_DATA_DIR: dataDir };
      expect((await flywheel({ home, env }, 'batch', 'current', '--json')).exit).toBe(0);
    },
    60_000,
  );
});
