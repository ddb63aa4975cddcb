/** `flywheel serve` as a program: rate limits across restarts, signals, revoked keys, secrets in logs. */

import { randomUUID } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { besides, remotely } from '../support/flywheel-here.js';
import {
  ask,
  initHome,
  killServers,
  type ServedHome,
  type ServeProcess,
  serve,
} from '../support/http-serve.js';
import { itLong, sampleOf } from '../support/long.js';

const BURN = {
  type: 'PRODUCT_BUY',
  proof: { orderId: 'secret-order-77' },
  burnAmount: 1,
  persistOnchain: true,
};
const BURNS = '/v1/tokenomics/burn';
const BATCHES = '/v1/tokenomics/burn-batch';
const CURRENT = '/v1/flywheel/batch/current';

describe('flywheel serve', () => {
  let home: ServedHome;

  beforeAll(async () => {
    home = await initHome();
  });
  afterEach(killServers);
  const start = (...words: string[]): Promise<ServeProcess> => serve(home, ...words);
  const freshKey = async (): Promise<{ id: string; key: string }> => {
    const { stdout } = await besides(home, 'keys', 'create', '--scope', 'burn', '--json');
    return JSON.parse(stdout) as { id: string; key: string };
  };

  it('prints the same for a command whether it asks the engine or the server', async () => {
    const server = await start();
    const { key } = home;
    const idempotencyKey = randomUUID();
    const burn = ['burn', '--type', 'PRODUCT_BUY', '--proof', '{"n":1}', '--amount', '2'];
    const words = [...burn, '--json', '--idempotency-key', idempotencyKey];
    const remote = await remotely(home, server.url, ...words);
    expect([remote.exit, remote.stderr]).toEqual([0, '']);
    const local = await besides(home, ...words);
    expect(local.stdout).toBe(remote.stdout);
    const response = await ask(server.url + BURNS, key, {
      body: { type: 'PRODUCT_BUY', proof: { n: 1 }, burnAmount: 2, persistOnchain: false },
      idempotencyKey,
    });
    expect(response.headers.get('idempotent-replayed')).toBe('true');
    expect(await response.json()).toEqual(JSON.parse(remote.stdout));
    expect((await remotely(home, server.url, 'batch', 'current', '--json')).stdout).toBe('null\n');
  });

  itLong('keeps to the limit that one key has of its own', async () => {
    const [wide, other] = [await freshKey(), await freshKey()];
    const server = await start('--rate', 'current=1/h', '--rate', `current=7/2h@${wide.id}`);
    const statuses = async (key: string): Promise<readonly number[]> => {
      const answers = await Promise.all(Array.from({ length: 9 }, () => ask(server.url + CURRENT, key)));
      return answers.map(({ status }) => status).sort();
    };
    expect(await statuses(wide.key)).toEqual([...Array(7).fill(200), 429, 429]);
    expect(await statuses(other.key)).toEqual([200, ...Array(8).fill(429)]);
    const policy = (await ask(server.url + CURRENT, wide.key)).headers.get('ratelimit-policy');
    expect(policy).toBe('"batch-current";q=7;w=7200');
  });

  const REFUSED = [
    ['--rate', 'burn=0/s'],
    ['--rate', 'burn=10'],
    ['--rate', 'mint=10/s'],
    ['--rate', 'constructor=10/s'],
    ['--rate', 'burn=10/s@'],
    ['--shutdown-grace', '-1'],
  ] as const;
  it.each(sampleOf(REFUSED, 1))('refuses to start with %s %s', async (option, value) => {
    const { exit, stdout, stderr } = await besides(home, 'serve', '--port', '0', option, value);
    expect([exit, stdout]).toEqual([2, '']);
    expect(stderr).toContain(value);
  });

  it('refuses to start on a port in use, and a command that names a project of a database', async () => {
    const { port } = new URL((await start()).url);
    const taken = await besides(home, 'serve', '--port', port, '--json');
    expect([taken.exit, JSON.parse(taken.stderr)]).toMatchObject([2, { error: 'ERR_CONFIG_INVALID' }]);
    const named = await besides(home, 'vault', '--project', 'shop', '--json');
    expect([named.exit, JSON.parse(named.stderr)]).toMatchObject([2, { error: 'ERR_USAGE' }]);
  });

  it('refuses to start with a rate for a key that is not there', async () => {
    const id = randomUUID();
    const { exit, stderr } = await besides(home, 'serve', '--port', '0', '--rate', `burn=10/s@${id}`);
    expect([exit, JSON.parse(stderr)]).toEqual([
      2,
      expect.objectContaining({
        error: 'ERR_CONFIG_INVALID',
        message: `--rate: no API key ${id}.`,
      }),
    ]);
  });

  it('refuses a key from the moment it is revoked by another process', async () => {
    const server = await start();
    const { id, key } = await freshKey();
    expect((await ask(server.url + CURRENT, key)).status).toBe(200);
    expect((await besides(home, 'keys', 'revoke', id, '--yes')).exit).toBe(0);
    expect((await ask(server.url + CURRENT, key)).status).toBe(401);
  });

  it('finishes what runs on SIGTERM and exits with 0', async () => {
    const server = await start();
    const { key } = await freshKey();
    const body = Array.from({ length: 400 }, (_, n) => ({ ...BURN, proof: { n } }));
    const running = ask(server.url + BATCHES, key, { body, idempotencyKey: randomUUID() });
    await untilAccepted(server);
    const ended = server.end('SIGTERM');
    const response = await running;
    expect(response.status).toBe(200);
    expect(((await response.json()) as { success: unknown[] }).success).toHaveLength(400);
    expect(await ended).toEqual({ exit: 0, signal: null });
    await expect(ask(server.url + CURRENT, key)).rejects.toThrow();
  });

  itLong('exits at once on a second signal', async () => {
    const server = await start();
    const { key } = await freshKey();
    const body = Array.from({ length: 1_000 }, (_, n) => ({ ...BURN, proof: { n } }));
    const cut = ask(server.url + BATCHES, key, { body, idempotencyKey: randomUUID() }).catch(() => 'cut');
    await untilAccepted(server);
    server.child.kill('SIGTERM');
    await untilStopping(server);
    expect(await server.end('SIGTERM')).toEqual({ exit: null, signal: 'SIGTERM' });
    expect(await cut).toBe('cut');
  });

  it('keeps keys and proofs out of its log, and its files to the user', async () => {
    const server = await start('--log-level', 'trace');
    const { key } = await freshKey();
    await ask(server.url + BURNS, key, { body: BURN });
    await ask(server.url + BURNS, 'fwk_wrong_key_in_a_header', { body: BURN });
    await ask(`${server.url}/v1/nothing?api_key=${key}`, key);
    await server.end('SIGTERM');
    const log = server.log();
    expect(log).toContain('"answered"');
    for (const secret of [key, 'fwk_wrong', 'secret-order-77']) expect(log).not.toContain(secret);
    expect(statSync(home.dataDir).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(home.dataDir)) {
      expect([name, statSync(join(home.dataDir, name)).mode & 0o077]).toEqual([name, 0]);
    }
  });
});

async function untilAccepted(server: ServeProcess): Promise<void> {
  for (;;) {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    if (/flywheel_http_requests_running [1-9]/.test(text)) return;
  }
}

async function untilStopping(server: ServeProcess): Promise<void> {
  while (!server.log().includes('"stopping"')) await setTimeout(5);
}
