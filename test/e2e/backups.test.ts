/** Runs the commands of docs/backups.md as printed, beside a server that burns, and restores their copies. */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import Database from 'libsql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, initHome, type ServedHome, serve } from '../support/http-serve.js';
import { describeLong, sampleOf } from '../support/long.js';
import { type OwnDatabase, openDatabase, queryAt, startInstalled } from '../support/postgres.js';
import { emptyDirectory, flywheel } from '../support/spawn.js';
import { projectOnCluster } from '../test-cluster/directory.js';

const BLOCKS = (title: string): readonly string[] => {
  const section = readFileSync('docs/backups.md', 'utf8').split(`## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block]) => block ?? '');
};

/** Major version of the tests' PostgreSQL; an older pg_dump refuses a newer server. */
const POSTGRES_VERSION = 18;
const versionOf = (program: string): number =>
  Number(/\d+/.exec(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[0] ?? 0);

/** Programs of this machine's own PostgreSQL, if complete; its server works with its own `pg_dump`, whatever the version. */
function installedPostgres(): string | undefined {
  const bin = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' }).stdout?.trim();
  const isWhole = ['initdb', 'postgres', 'pg_dump'].every((name) => existsSync(join(bin ?? '', name)));
  return bin && isWhole ? bin : undefined;
}
const INSTALLED = installedPostgres();

/** Directories with our program and replacements for programs that this machine lacks. */
function pathWith(): string {
  const bin = emptyDirectory();
  const hasPostgres = INSTALLED !== undefined || versionOf('pg_dump') >= POSTGRES_VERSION;
  const missing = [
    ...(versionOf('sqlite3') > 0 ? [] : ['sqlite3']),
    ...(hasPostgres ? [] : ['pg_dump', 'pg_restore', 'createdb']),
  ];
  const program = (name: string, words: string): void => {
    writeFileSync(join(bin, name), `#!/bin/sh\nexec '${process.execPath}' ${words} "$@"\n`);
    chmodSync(join(bin, name), 0o755);
  };
  program('flywheel', `'${resolve('bin/flywheel.js')}'`);
  for (const name of missing) program(name, `'${resolve('test/e2e/backup-tools.mjs')}' ${name}`);
  return [bin, ...(INSTALLED === undefined ? [] : [INSTALLED]), process.env['PATH']].join(delimiter);
}

/** Runs a block in an empty directory, or in one of an earlier block. @returns the directory */
function run(block: string, env: Record<string, string>, cwd = emptyDirectory()): string {
  const { status, stdout, stderr } = spawnSync('sh', ['-eu', '-c', block], {
    ...{ cwd, encoding: 'utf8' },
    env: { PATH: pathWith(), HOME: cwd, ...env },
  });
  expect([status, stdout + stderr]).toEqual([0, expect.any(String)]);
  return cwd;
}

describe('a data directory with its own ledger', () => {
  const [copy = '', check = ''] = BLOCKS('A data directory with its own ledger');
  let home: ServedHome;
  beforeAll(async () => {
    home = await initHome();
  });

  /** Burns repeatedly until stopped. @returns the idempotency keys of the burns */
  function burning(url: string): () => Promise<readonly string[]> {
    const keys: string[] = [];
    let isOver = false;
    const done = (async () => {
      while (!isOver) {
        const key = `key-${keys.length}`;
        const answer = await burn(url, key);
        expect(answer.status).toBe(200);
        keys.push(key);
      }
    })();
    return async () => {
      isOver = true;
      await done;
      return keys;
    };
  }
  const burn = (url: string, idempotencyKey: string) =>
    ask(`${url}/v1/tokenomics/burn`, home.key, {
      body: { type: 'PRODUCT_BUY', proof: { key: idempotencyKey }, burnAmount: 1, persistOnchain: false },
      idempotencyKey,
    });

  it('is copied whole beside a server that burns, and goes on from there', async () => {
    const server = await serve(home);
    expect((await burn(server.url, 'before')).status).toBe(200);
    const stop = burning(server.url);
    const env = { FLYWHEEL_DATA_DIR: home.dataDir };
    const cwd = run(copy, env);
    await stop();
    run(check, env, cwd);
    await server.end('SIGTERM');
    const again = await serve({ ...home, dataDir: join(cwd, 'backup') });
    const [repeated, fresh] = [await burn(again.url, 'before'), await burn(again.url, 'after')];
    expect([repeated.status, repeated.headers.get('idempotent-replayed'), fresh.status]).toEqual([
      200,
      'true',
      200,
    ]);
    await again.end('SIGTERM');
  }, 60_000);

  const FILES = [
    ['store', 'ERR_STORE_BEHIND'],
    ['ledger', 'ERR_STORE_UNAVAILABLE'],
  ] as const;
  it.each(sampleOf(FILES, 1))(
    'is not written any more once an older %s is put in place under a server',
    async (name, error) => {
      const served = await initHome();
      const server = await serve(served);
      const send = (idempotencyKey: string, proof: object) =>
        ask(`${server.url}/v1/tokenomics/burn-batch`, served.key, {
          body: [{ type: 'PRODUCT_BUY', proof, burnAmount: 1, persistOnchain: false }],
          idempotencyKey,
        });
      const [first, again] = [randomUUID(), randomUUID()];
      const file = join(served.dataDir, `${name}.db`);
      const cwd = run(`sqlite3 '${file}' "vacuum into 'old.db'"`, {});
      expect((await send(first, { order: 1 })).status).toBe(200);
      run(`sqlite3 '${file}' ".timeout 5000" ".restore old.db"`, {}, cwd);
      for (const key of [first, again]) expect((await send(key, { order: 1 })).status).toBe(503);
      expect(server.log()).toContain(`The ${name} ${file} was removed or replaced while in use.`);
      await server.end('SIGTERM');
      const { exit, stderr } = await flywheel(
        { home: served.home, env: { FLYWHEEL_DATA_DIR: served.dataDir } },
        ...['burn', '--type', 'PRODUCT_BUY', '--proof', '{}', '--amount', '1'],
      );
      expect([exit, JSON.parse(stderr)]).toMatchObject([6, { error }]);
    },
    60_000,
  );

  it('has its damage told', async () => {
    const dataDir = join(emptyDirectory(), 'data');
    cpSync(home.dataDir, dataDir, { recursive: true });
    const database = new Database(join(dataDir, 'store.db'));
    database.exec("update daily_usage set landed = '00000000000000000001'");
    database.close();
    const { exit, stdout } = await flywheel(
      { home: home.home, env: { FLYWHEEL_DATA_DIR: dataDir } },
      ...['db', 'check'],
    );
    const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean }[] };
    expect([exit, checks.filter(({ ok }) => !ok).map(({ name }) => name)]).toEqual([9, ['days', 'sums']]);
  });
});

describeLong('what is on a cluster', () => {
  let on: Awaited<ReturnType<typeof projectOnCluster>>;
  let postgres: OwnDatabase;
  beforeAll(async () => {
    on = await projectOnCluster();
    postgres = await (INSTALLED === undefined ? openDatabase() : startInstalled(INSTALLED));
  });
  afterAll(async () => {
    await postgres.stop();
    await on.close();
  });

  it('is copied from a data directory', () => {
    const [copy = ''] = BLOCKS('A data directory on a cluster');
    const cwd = run(copy, { FLYWHEEL_DATA_DIR: on.dataDir });
    run('flywheel db check', { FLYWHEEL_DATA_DIR: join(cwd, 'backup') });
  });

  it('is dumped from a database, and restored into another one', async () => {
    const { hostname, port, username, pathname } = new URL(postgres.url);
    const restored = new URL(postgres.url);
    restored.pathname = '/restored';
    const cwd = emptyDirectory();
    mkdirSync(join(cwd, 'machine'));
    const machine = { FLYWHEEL_DATA_DIR: join(cwd, 'machine') };
    run('flywheel db copy', { FLYWHEEL_DATA_DIR: on.dataDir, FLYWHEEL_DATABASE_URL: postgres.url });
    const [dump = ''] = BLOCKS('PostgreSQL');
    const client = { PGHOST: hostname, PGPORT: port, PGUSER: username, PGDATABASE: pathname.slice(1) };
    run(dump, { ...client, ...machine, FLYWHEEL_DATABASE_URL: restored.href }, cwd);
    const digest = (url: string) =>
      queryAt(
        url,
        'select (select json_agg(p order by id) from projects p) as projects, (select json_agg(a order by ordinal) from audit_log a) as acts',
      );
    expect(await digest(restored.href)).toEqual(await digest(postgres.url));
  }, 60_000);
});
