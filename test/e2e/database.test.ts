import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { flywheelHere } from '../support/flywheel-here.js';
import { ask, type ServeProcess, serve } from '../support/http-serve.js';
import { itLong } from '../support/long.js';
import { startPostgres } from '../support/postgres.js';
import { type Registered, sharedDatabase } from './shared-database.js';

const postgres = await startPostgres();
const { project, home, machine, run, failed, register, fund, close } = await sharedDatabase(postgres);
const { mint } = project.token;
const running: ServeProcess[] = [];
afterAll(async () => {
  for (const server of running.splice(0)) await server.end('SIGKILL');
  await close();
});

describe('a flywheel in a database', () => {
  it('is registered, burned from and served', async () => {
    expect(await failed('a', {}, 'vault')).toMatchObject({ error: 'ERR_LOCAL_NOT_FOUND' });
    const registered: Registered = await run('a', ...register({ mint }));
    expect(registered).toMatchObject({ project: expect.any(String), apiKey: { file: expect.any(String) } });
    expect(await run('a', ...register({ mint }))).toMatchObject({
      project: registered.project,
      registration: registered.registration,
      apiKey: null,
    });
    expect(await run('a', 'audit')).toContainEqual(
      expect.objectContaining({ action: 'register', project: registered.project }),
    );
    const key = readFileSync(registered.apiKey.file, 'utf8').trim();
    await fund(mint, registered);

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
    for (let order = 0; order < 2; order += 1) {
      const [to, other] = order % 2 === 0 ? servers : [...servers].reverse();
      const burned = await burnAt(to?.url ?? '', order);
      expect(burned.status).toBe(200);
      const { txHash } = (await burned.json()) as { txHash: string };
      const listed = await ask(`${other?.url}/v1/tokenomics/burns?limit=1`, key);
      expect(await listed.json()).toMatchObject({ items: [{ txHash }] });
    }

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
    'is not used beside a project of the directory, and its address is private',
    async () => {
      expect((await flywheelHere(machine('own', { FLYWHEEL_DATABASE_URL: '' }), 'local', 'init')).exit).toBe(
        0,
      );
      expect(await failed('own', {}, 'history')).toMatchObject({ exit: 2, error: 'ERR_CONFIG_INVALID' });
      const file = join(home, 'url');
      writeFileSync(file, postgres.url, { mode: 0o644 });
      expect(await failed('b', {}, 'history', '--database-url-file', file)).toMatchObject({
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
        source: 'FLYWHEEL_DATABASE_URL',
        schema: { upToDate: true },
        projects: { count: 1 },
        pending: { burns: 0, batches: 0 },
      });
      expect(await run('a', 'db', 'migrate')).toMatchObject({ applied: [] });
      expect((await run('a', 'whoami')).database).toEqual({
        value: `${postgres.url.replace('postgres@', '')} by FLYWHEEL_DATABASE_URL`,
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
