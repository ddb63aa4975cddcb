/** `flywheel serve` whose data directory is wiped, restored or mixed up: nothing is written to the wrong files. */
import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { besides } from '../support/flywheel-here.js';
import {
  ask,
  copyHome,
  initHome,
  killServers,
  type ServedHome,
  type ServeProcess,
  serve,
} from '../support/http-serve.js';
import { sampleOf } from '../support/long.js';

const BURN = { type: 'PRODUCT_BUY', proof: { order: 'A-1' }, burnAmount: 1, persistOnchain: false };

const burn = (server: ServeProcess, { key }: ServedHome): Promise<Response> =>
  ask(`${server.url}/v1/tokenomics/burn`, key, { body: BURN, idempotencyKey: randomUUID() });

const parts = (path: string): readonly string[] => [path, `${path}-wal`, `${path}-shm`];

function replace(path: string, by?: string): void {
  for (const [at, part] of parts(path).entries()) {
    rmSync(part, { force: true });
    const other = by === undefined ? undefined : parts(by)[at];
    if (other !== undefined && existsSync(other)) copyFileSync(other, part);
  }
}

describe('a data directory', () => {
  let template: ServedHome;
  let other: ServedHome;
  let home: ServedHome;

  beforeAll(async () => {
    template = await initHome();
    other = await initHome('--symbol', 'OTHER');
  });
  beforeEach(() => {
    home = copyHome(template);
  });
  afterEach(killServers);

  it('is not wiped under a server, which goes on', async () => {
    const server = await serve(home);
    const { exit: refused, stderr } = await besides(home, 'local', 'reset', '--yes', '--json');
    const message = expect.stringContaining('another flywheel process uses the data directory');
    expect([refused, JSON.parse(stderr)]).toMatchObject([6, { error: 'ERR_STORE_UNAVAILABLE', message }]);
    expect((await burn(server, home)).status).toBe(200);
    const { exit } = await server.end('SIGTERM');
    expect(exit).toBe(0);
    expect((await besides(home, 'local', 'reset', '--yes', '--json')).exit).toBe(0);
  });

  const fileOf = (at: ServedHome, name: string): string => join(at.dataDir, name);
  const foreign = (name: string) => replace(fileOf(home, name), fileOf(other, name));
  const wipe = (): void => rmSync(home.dataDir, { recursive: true });
  const again = (): Promise<unknown> => {
    wipe();
    return besides(home, 'local', 'init', '--json');
  };
  const LOSSES = [
    ['removed as a whole', wipe, 'store.db'],
    ['moved away', () => renameSync(home.dataDir, `${home.dataDir}-old`), 'store.db'],
    ['without its ledger', () => replace(fileOf(home, 'ledger.db')), 'ledger.db'],
    ['with the ledger of another', () => foreign('ledger.db'), 'ledger.db'],
    ['with the store of another', () => foreign('store.db'), 'store.db'],
    ['made again', again, 'store.db'],
  ] as const;

  it.each(sampleOf(LOSSES, 2))(
    '%s under a server: nothing is burned, and the log says why',
    async (_name, lose, file) => {
      const server = await serve(home);
      expect((await burn(server, home)).status).toBe(200);
      await lose();
      for (const answer of [await burn(server, home), await burn(server, home)])
        expect(answer.status).toBe(503);
      expect(server.log()).toMatch(new RegExp(`${file} was removed or replaced`));
      expect((await server.end('SIGTERM')).exit).toBe(0);
    },
  );
});
