/** Two projects in one database, by the printed commands: each burns with its own key, and neither affects the other. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestToken } from '../support/chain.js';
import { flywheelHere } from '../support/flywheel-here.js';
import { ask, type ServeProcess, serve } from '../support/http-serve.js';
import { type OwnDatabase, openDatabase } from '../support/postgres.js';
import { SQUADS_TREASURY, type TestProject, testProject } from '../support/registration.js';
import { rpcResult } from '../support/rpc-call.js';
import { emptyDirectory } from '../support/spawn.js';
import { closeTestNodes, startTestNode, type TestNode } from '../test-cluster/node.js';
import { sendByTreasury } from './treasury.js';

const SLOTS = { pace: 'clock', slotMs: 20, confirmedAfter: 1, finalizedAfter: 4 } as const;
let project: TestProject;
let tokens: { readonly shop: TestToken; readonly game: TestToken; readonly third: TestToken };
let node: TestNode;
let postgres: OwnDatabase;
let home: string;
let server: ServeProcess | undefined;

interface Registered {
  readonly project: string;
  readonly registration: { readonly burnWallet: string; readonly multisig: string };
  readonly apiKey: { readonly id: string; readonly file: string };
}
let shop: Registered;
let game: Registered;

beforeAll(async () => {
  project = await testProject({ others: 1, names: ['mint of game', 'mint of third'] });
  const [game, third] = project.tokens as [TestToken, TestToken];
  tokens = { shop: project.token, game, third };
  node = await startTestNode({ directory: project.directory, ...SLOTS });
  postgres = await openDatabase();
  home = emptyDirectory();
});
afterAll(async () => {
  await server?.end('SIGKILL');
  await closeTestNodes();
  await postgres.stop();
});

const machine = (env: Readonly<Record<string, string>> = {}) => ({
  home,
  dataDir: join(home, 'data'),
  env: {
    FLYWHEEL_DATA_DIR: join(home, 'data'),
    FLYWHEEL_DATABASE_URL: postgres.url,
    FLYWHEEL_RPC_URL: node.url,
    ...env,
  },
});

const run = async (...words: string[]) => {
  const ended = await flywheelHere(machine(), ...words, '--json');
  // For `doctor` a vault without tokens is a problem.
  const exits = words[0] === 'doctor' ? [0, 5] : [0];
  expect([exits.includes(ended.exit ?? -1), ended.stderr]).toEqual([true, expect.any(String)]);
  return JSON.parse(ended.stdout);
};

const failed = async (env: Readonly<Record<string, string>>, ...words: string[]) => {
  const { stderr } = await flywheelHere(machine(env), ...words, '--json');
  return JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as { error: string; message: string };
};

const registerBy = (operator: string, name: string, { mint }: TestToken): string[] => [
  ...['register', '--cluster', node.url, '--project', name, '--mint', mint, '--owner', project.owner.address],
  ...['--operator-keypair', operator, '--daily-burn', '100', '--yes'],
];
const register = (name: string, token: TestToken): string[] =>
  registerBy(project.files.operator, name, token);

const lamports = async (of: string): Promise<bigint> =>
  BigInt((await rpcResult<{ value: number }>(node.url, 'getBalance', of)).value);

const fund = (token: TestToken, { registration: { burnWallet } }: Registered): Promise<void> =>
  sendByTreasury(node.url, token.mint, { to: burnWallet, tokens: 50n, lamports: 10_000_000n });

const keyOf = ({ apiKey }: Registered): string => readFileSync(apiKey.file, 'utf8').trim();

const burn = (key: string, order: number, idempotencyKey: string) =>
  ask(`${server?.url}/v1/tokenomics/burn`, key, {
    body: { type: 'PRODUCT_BUY', proof: { order }, burnAmount: 1, persistOnchain: false },
    idempotencyKey,
  });

describe('two projects of a database', () => {
  it('are registered, and what one has no other gets, before anything is paid', async () => {
    shop = await run(...register('shop', tokens.shop));
    game = await run(...register('game', tokens.game));
    expect([shop.project, game.project]).toEqual(['shop', 'game']);
    for (const { project: name, apiKey } of [shop, game])
      expect(apiKey.file).toBe(join(home, 'data', 'api-keys', name));
    const { checks } = (await run('doctor', '--project', 'shop')) as {
      checks: { name: string; ok: boolean }[];
    };
    for (const name of ['rpc', 'chain clock'])
      expect([name, checks.filter((one) => one.name === name)]).toMatchObject([name, [{ ok: true }]]);
    const held = [await lamports(project.operator.address), await lamports(SQUADS_TREASURY)];
    const taken = [
      ['mint', register('other', tokens.shop)],
      ['mint', register('shop', tokens.third)],
      ['vault', [...register('third', tokens.third), '--multisig', shop.registration.multisig]],
    ] as const;
    for (const [what, words] of taken)
      expect(await failed({}, ...words)).toMatchObject({
        error: 'ERR_LOCAL_ALREADY_EXISTS',
        message: expect.stringContaining(what),
      });
    expect([await lamports(project.operator.address), await lamports(SQUADS_TREASURY)]).toEqual(held);
    expect(existsSync(join(home, 'data', `registration-${tokens.third.mint}.json`))).toBe(false);
  }, 60_000);

  it('are burned from with a key each, and the same idempotency key is two', async () => {
    await fund(tokens.shop, shop);
    await fund(tokens.game, game);
    const typed = ['--type', 'PRODUCT_BUY', '--proof', '{"n":1}', '--amount', '2'];
    expect(await failed({}, 'burn', '--yes', ...typed)).toMatchObject({
      error: 'ERR_CONFIG_INVALID',
      message: expect.stringContaining('game, shop'),
    });
    await run('burn', '--yes', ...typed, '--project', 'game');
    server = await serve(machine({ FLYWHEEL_DATABASE_POOL: '4' }), '--rate', 'burn=3/min');
    const [ofShop, ofGame] = [await burn(keyOf(shop), 1, 'k'), await burn(keyOf(game), 1, 'k')];
    expect([ofShop.status, ofGame.status]).toEqual([200, 200]);
    const hashes = await Promise.all(
      [ofShop, ofGame].map(async (one) => JSON.parse(await one.text()).txHash),
    );
    expect(new Set(hashes).size).toBe(2);
    const listed = async (key: string): Promise<readonly string[]> => {
      const answer = await ask(`${server?.url}/v1/tokenomics/burns`, key);
      const { items } = (await answer.json()) as { items: readonly { txHash: string }[] };
      return items.map(({ txHash }) => txHash);
    };
    expect(await listed(keyOf(shop))).toEqual([hashes[0]]);
    expect(await listed(keyOf(game))).toEqual([hashes[1], expect.any(String)]);
    expect(await run('vault', '--project', 'shop')).toMatchObject({ today: { burn: { used: '1' } } });
    expect(await run('vault', '--project', 'game')).toMatchObject({ today: { burn: { used: '3' } } });
    expect(await failed({ FLYWHEEL_API_KEY: keyOf(shop) }, 'history', '--project', 'game')).toMatchObject({
      error: 'ERR_CONFIG_INVALID',
      message: expect.stringContaining('belongs to the project shop'),
    });
  }, 60_000);
});
