/** Two projects in one database, by the printed commands: each burns with its own key, and neither affects the other. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { TestToken } from '../support/chain.js';
import { ask, type ServeProcess, serve } from '../support/http-serve.js';
import { openDatabase } from '../support/postgres.js';
import { SQUADS_TREASURY } from '../support/registration.js';
import { rpcResult } from '../support/rpc-call.js';
import { type Registered, sharedDatabase } from './shared-database.js';

const postgres = await openDatabase();
const { project, node, home, machine, register, fund, ...shared } = await sharedDatabase(postgres, {
  others: 1,
  names: ['mint of game', 'mint of third'],
});
const [ofGame, ofThird] = project.tokens as [TestToken, TestToken];
const tokens = { shop: project.token, game: ofGame, third: ofThird };
const run = (...words: string[]) => shared.run('data', ...words);
const failed = (env: Readonly<Record<string, string>>, ...words: string[]) =>
  shared.failed('data', env, ...words);
let server: ServeProcess | undefined;
let shop: Registered;
let game: Registered;
afterAll(async () => {
  await server?.end('SIGKILL');
  await shared.close();
});

const lamports = async (of: string): Promise<bigint> =>
  BigInt((await rpcResult<{ value: number }>(node.url, 'getBalance', of)).value);

const keyOf = ({ apiKey }: Registered): string => readFileSync(apiKey.file, 'utf8').trim();

const burn = (key: string, order: number, idempotencyKey: string) =>
  ask(`${server?.url}/v1/tokenomics/burn`, key, {
    body: { type: 'PRODUCT_BUY', proof: { order }, burnAmount: 1, persistOnchain: false },
    idempotencyKey,
  });

describe('two projects of a database', () => {
  it('are registered, and what one has no other gets, before anything is paid', async () => {
    shop = await run(...register(tokens.shop, '--project', 'shop'));
    game = await run(...register(tokens.game, '--project', 'game'));
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
      ['mint', register(tokens.shop, '--project', 'other')],
      ['mint', register(tokens.third, '--project', 'shop')],
      ['vault', register(tokens.third, '--project', 'third', '--multisig', shop.registration.multisig)],
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
    await fund(tokens.shop.mint, shop);
    await fund(tokens.game.mint, game);
    const typed = ['--type', 'PRODUCT_BUY', '--proof', '{"n":1}', '--amount', '2'];
    expect(await failed({}, 'burn', '--yes', ...typed)).toMatchObject({
      error: 'ERR_CONFIG_INVALID',
      message: expect.stringContaining('game, shop'),
    });
    await run('burn', '--yes', ...typed, '--project', 'game');
    server = await serve(machine('data', { FLYWHEEL_DATABASE_POOL: '4' }), '--rate', 'burn=3/min');
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
