/** A key is replaced as a program does it, beside a server: what was begun with the old one goes on with the new one. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { removeDirectories } from '../support/chain.js';
import {
  ask,
  besides,
  initHome,
  remotely,
  type ServedHome,
  type ServeProcess,
  serve,
} from '../support/http-serve.js';
import { itLong } from '../support/long.js';

let home: ServedHome;
let server: ServeProcess;
beforeAll(async () => {
  home = await initHome();
  server = await serve(home);
});
afterAll(async () => {
  await server.end('SIGTERM');
  removeDirectories();
});

const json = async (...words: string[]) => {
  const { exit, stdout, stderr } = await besides(home, ...words, '--json');
  expect([exit, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
};

const TYPE = 'PRODUCT_BUY';
const KEY = 'order-1';

const burnWith = (key: string): Promise<Response> =>
  ask(`${server.url}/v1/tokenomics/burn`, key, {
    body: { type: TYPE, proof: { order: 1 }, burnAmount: 1, persistOnchain: false },
    idempotencyKey: KEY,
  });

describe('flywheel keys', () => {
  it('are replaced, and give the new key what the old one did', async () => {
    const words = ['--type', TYPE, '--proof', '{"order":1}', '--amount', '1', '--idempotency-key', KEY];
    const first = await remotely(home, server.url, 'burn', ...words, '--json');
    expect(first.exit).toBe(0);
    const made = await json('keys', 'create');
    expect(await json('keys', 'revoke', home.keyId, '--after', '24h')).toMatchObject({ dateRevoked: null });
    expect((await burnWith(home.key)).status).toBe(200);
    await json('keys', 'revoke', home.keyId);
    const [old, again] = [await burnWith(home.key), await burnWith(made.key)];
    expect([old.status, again.status]).toEqual([401, 200]);
    expect(((await again.json()) as { txHash: string }).txHash).toBe(JSON.parse(first.stdout).txHash);
    writeFileSync(join(home.dataDir, 'api-key'), made.key);
    expect((await json('local', 'status')).burned).toBe('1');
    expect((await json('keys', 'list')).map(({ id }: { id: string }) => id).sort()).toEqual(
      [home.keyId, made.id].sort(),
    );
  }, 60_000);

  itLong(
    'leave a line each in the audit log, without the keys',
    async () => {
      const { id, key } = await json('keys', 'create', '--scope', 'burn');
      await json('keys', 'revoke', id);
      const { stdout } = await besides(home, 'audit', '--json');
      const acts = JSON.parse(stdout) as readonly { action: string; subject: string; actor: string }[];
      expect(acts.map(({ action }) => action)).toEqual([
        ...['keys.revoke', 'keys.create', 'keys.revoke', 'keys.revoke', 'keys.create', 'register'],
      ]);
      expect(acts[0]).toMatchObject({ subject: id, actor: expect.stringMatching(/^\S+@\S+ pid \d+$/) });
      expect(stdout).not.toContain(key);
    },
    60_000,
  );
});
