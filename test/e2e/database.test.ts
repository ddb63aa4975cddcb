import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { flywheelHere } from '../support/flywheel-here.js';
import { ask, type ServeProcess, serve } from '../support/http-serve.js';
import { isLong, itLong } from '../support/long.js';
import { type PostgresServer, startPostgres } from '../support/postgres.js';
import { type TestProject, testProject } from '../support/registration.js';
import { emptyDirectory } from '../support/spawn.js';
import { closeTestNodes, startTestNode, type TestNode } from '../test-cluster/node.js';
import { sendByTreasury } from './treasury.js';

const SLOTS = { pace: 'clock', slotMs: 20, confirmedAfter: 1, finalizedAfter: 4 } as const;

let project: TestProject;
let node: TestNode;
let postgres: PostgresServer;
let home: string;
const running: ServeProcess[] = [];

interface Registered {
  readonly project: string;
  readonly registration: { readonly burnWallet: string };
  readonly apiKey: { readonly file: string };
}

beforeAll(async () => {
  project = await testProject();
  node = await startTestNode({ directory: project.directory, ...SLOTS });
  postgres = await startPostgres();
  home = emptyDirectory();
});
afterAll(async () => {
  for (const server of running.splice(0)) await server.end('SIGKILL');
  await closeTestNodes();
  await postgres.stop();
});

/** Several machines with their own directories share one database. */
const machine = (name: string) => ({
  home,
  dataDir: join(home, name),
  env: {
    FLYWHEEL_DATA_DIR: join(home, name),
    DATABASE_URL: postgres.url,
    FLYWHEEL_RPC_URL: node.url,
  },
});

const run = async (on: string, ...words: string[]) => {
  const ended = await flywheelHere(machine(on), ...words, '--json');
  // For `doctor` a vault without tokens is a problem.
  const exits = words[0] === 'doctor' ? [0, 5] : [0];
  expect([exits.includes(ended.exit ?? -1), ended.stderr]).toEqual([true, expect.any(String)]);
  return JSON.parse(ended.stdout);
};

const failed = async (on: string, ...words: string[]) => {
  const { exit, stderr } = await flywheelHere(machine(on), ...words, '--json');
  return {
    exit,
    ...(JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as { error: string; message: string }),
  };
};

const register = (mint: string): string[] => [
  ...['register', '--cluster', node.url, '--mint', mint, '--owner', project.owner.address],
  ...['--operator-keypair', project.files.operator, '--daily-burn', '100', '--yes'],
];

const send = (to: string, tokens: bigint, lamports: bigint): Promise<void> =>
  sendByTreasury(node.url, project.token.mint, { to, tokens, lamports });

describe('a flywheel in a database', () => {
  it('is registered, burned from and served', async () => {
    expect(await failed('a', 'vault')).toMatchObject({ error: 'ERR_LOCAL_NOT_FOUND' });
    const registered: Registered = await run('a', ...register(project.token.mint));
    expect(registered).toMatchObject({ project: expect.any(String), apiKey: { file: expect.any(String) } });
    expect(await run('a', ...register(project.token.mint))).toMatchObject({
      project: registered.project,
      registration: registered.registration,
      apiKey: null,
    });
    expect(await run('a', 'audit')).toContainEqual(
      expect.objectContaining({ action: 'register', project: registered.project }),
    );
    const { registration } = registered;
    const key = readFileSync(registered.apiKey.file, 'utf8').trim();
    await send(registration.burnWallet, 50n, 10_000_000n);

    const burn = ['burn', '--type', 'PRODUCT_BUY', '--proof', '{"n":1}', '--amount', '3'];
    await run('a', ...burn, '--yes', '--persist-onchain');
    expect(await run('a', 'pending')).toEqual([]);

    const servers = [
      await serve(machine('a'), '--rate', 'burn=100/s'),
      await serve(machine('a'), '--rate', 'burn=100/s'),
    ];
    running.push(...servers);
    const body = { type: 'PRODUCT_BUY', proof: { order: 7 }, burnAmount: 1, persistOnchain: false };
    const answers = await Promise.all(
      servers.map(({ url }) => ask(`${url}/v1/tokenomics/burn`, key, { body, idempotencyKey: 'k' })),
    );
    const [one] = answers;
    for (const answer of answers) expect([200, 409]).toContain(answer.status);
    expect(one).toBeDefined();
    expect(await run('a', 'vault')).toMatchObject({ today: { burn: { used: '4', cap: '100' } } });

    const burnAt = (url: string, order: number) =>
      ask(`${url}/v1/tokenomics/burn`, key, {
        body: { type: 'PRODUCT_BUY', proof: { order }, burnAmount: 1, persistOnchain: false },
        idempotencyKey: `order-${order}`,
      });
    const expectSharedRates = async (): Promise<void> => {
      const limited = await Promise.all(
        ['a', 'a'].map((name) => serve(machine(name), '--rate', 'burn=3/min')),
      );
      running.push(...limited);
      const tries = await Promise.all(
        Array.from({ length: 8 }, (_, at) => burnAt(limited[at % 2]?.url ?? '', 100 + at)),
      );
      expect(tries.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(5);
    };
    for (let order = 0; order < 2; order += 1) {
      const [to, other] = order % 2 === 0 ? servers : [...servers].reverse();
      const burned = await burnAt(to?.url ?? '', order);
      expect(burned.status).toBe(200);
      const { txHash } = (await burned.json()) as { txHash: string };
      const listed = await ask(`${other?.url}/v1/tokenomics/burns?limit=1`, key);
      expect(await listed.json()).toMatchObject({ items: [{ txHash }] });
    }

    // The rates tests on PostgreSQL cover shared counters in every check.
    if (isLong) await expectSharedRates();
    await postgres.restart(async () => {
      const { status, headers } = await burnAt(servers[0]?.url ?? '', 200);
      expect([status, headers.get('retry-after')]).toEqual([503, expect.any(String)]);
    });
    const after = await ask(`${servers[0]?.url}/v1/tokenomics/burns?limit=1`, key);
    expect(after.status).toBe(200);
  }, 120_000);

  it('is waited for by a server that runs, and not by one that starts', async () => {
    // The first key may have used up its rate.
    const { key }: { key: string } = await run('a', 'keys', 'create');
    const ready = async ({ url }: ServeProcess): Promise<number> => (await fetch(`${url}/readyz`)).status;
    const until = async (server: ServeProcess, status: number): Promise<void> => {
      while ((await ready(server)) !== status) await setTimeout(20);
    };
    const burn = ({ url }: ServeProcess) =>
      ask(`${url}/v1/tokenomics/burn`, key, {
        body: { type: 'PRODUCT_BUY', proof: { away: 1 }, burnAmount: 1, persistOnchain: false },
        idempotencyKey: 'away',
      });
    const [before] = running;
    if (before === undefined) throw new TypeError('No server is running.');
    const early = await serve(machine('a'), '--rate', 'burn=100/s');
    running.push(early);
    await postgres.restart(async () => {
      for (const server of [before, early]) await until(server, 503);
      await expect(serve(machine('a'))).rejects.toThrow('ERR_STORE_UNAVAILABLE');
      for (const server of [before, early]) {
        const away = await burn(server);
        expect([away.status, away.headers.get('retry-after')]).toEqual([503, expect.any(String)]);
        expect(await away.json()).toMatchObject({ error: 'ERR_UNAVAILABLE' });
      }
    });
    for (const server of [before, early]) await until(server, 200);
    const answers = [await burn(before), await burn(early)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const [first, second] = await Promise.all(answers.map(async (answer) => JSON.parse(await answer.text())));
    expect(second).toEqual(first);
  }, 60_000);

  itLong(
    'is no matter to a flywheel of its own, unless it is named for it',
    async () => {
      await run('own', 'local', 'init');
      await run('own', 'burn', '--yes', '--type', 'PRODUCT_BUY', '--proof', '{"own":1}', '--amount', '1');
      expect(await run('own', 'whoami')).not.toHaveProperty('database');
      const own = machine('own');
      const env = { ...own.env, FLYWHEEL_DATABASE_URL: postgres.url };
      const { exit, stderr } = await flywheelHere({ ...own, env }, 'history', '--json');
      expect([exit, JSON.parse(stderr).error]).toEqual([2, 'ERR_CONFIG_INVALID']);
      const file = join(home, 'url');
      writeFileSync(file, postgres.url, { mode: 0o644 });
      expect(await failed('b', 'history', '--database-url-file', file)).toMatchObject({
        exit: 2,
        error: 'ERR_CONFIG_INVALID',
        message: expect.stringContaining('every user can read'),
      });
    },
    60_000,
  );

  itLong(
    'is looked after',
    async () => {
      const status = await run('a', 'db', 'status');
      expect(status).toMatchObject({
        source: 'DATABASE_URL',
        schema: { upToDate: true },
        projects: { count: 1 },
        pending: { burns: 0, batches: 0 },
      });
      expect(await run('a', 'db', 'migrate')).toMatchObject({ applied: [] });
      expect((await run('a', 'whoami')).database).toEqual({
        value: `${postgres.url.replace('postgres@', '')} by DATABASE_URL`,
        source: 'environment',
      });
      const doctor = await run('a', 'doctor');
      expect(doctor.checks).toContainEqual(
        expect.objectContaining({ name: 'database', ok: true, detail: expect.stringContaining('1 project') }),
      );
      const of = (wanted: string) => doctor.checks.filter(({ name }: { name: string }) => name === wanted);
      expect(of('rpc')).toMatchObject([{ ok: true, rpc: { source: 'environment' } }]);
      expect(of('chain clock')).toMatchObject([{ ok: true }]);
      const { ok, checks } = await run('a', 'db', 'check', '--chain');
      expect([ok, checks.filter((one: { ok: boolean }) => !one.ok)]).toEqual([true, []]);
      expect(checks.length).toBeGreaterThan(6);
    },
    60_000,
  );
});
