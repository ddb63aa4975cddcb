/** `flywheel export` and `import` as a program: from a directory into PostgreSQL and back, beside burns, and killed in the middle. */
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dataFiles } from '../../../src/compose/local-config.js';
import { removeDirectories } from '../../support/chain.js';
import { clusterDirectory } from '../../support/cluster-directory.js';
import { openTestEngine, type TestEngine } from '../../support/engine.js';
import { closeTestNodes, startTestNode, type TestNode } from '../../support/local-rpc.js';
import { type PostgresServer, startPostgres } from '../../support/postgres.js';
import { emptyDirectory, flywheel, type Spawned, startFlywheel } from '../../support/spawn.js';

const home = emptyDirectory();
let test: TestEngine;
let node: TestNode;
let postgres: PostgresServer;
let source: string;

beforeAll(async () => {
  test = await openTestEngine();
  node = await startTestNode({
    ...{ directory: test.dataDir, isDataDirectory: true },
    ...{ pace: 'clock', slotMs: 20, confirmedAfter: 1, finalizedAfter: 4 },
  });
  source = await clusterDirectory(test, [node.url]);
  postgres = await startPostgres();
  for (const amount of ['1', '2', '3']) await burn({ FLYWHEEL_DATA_DIR: source }, amount);
});
afterAll(async () => {
  await postgres.stop();
  await closeTestNodes();
  await test.destroy();
  removeDirectories();
});

type Env = Record<string, string>;

const run = (env: Env, ...words: string[]): Promise<Spawned> =>
  flywheel(
    { home, env: { FLYWHEEL_API_KEY: test.project.key.reveal(), FLYWHEEL_RPC_URL: node.url, ...env } },
    ...words,
  );

async function answer<Value>(env: Env, ...words: string[]): Promise<Value> {
  const { exit, stdout, stderr } = await run(env, ...words);
  expect([exit, stderr]).toEqual([0, expect.any(String)]);
  return JSON.parse(stdout) as Value;
}

const burn = (env: Env, amount: string) =>
  answer<{ txHash: string }>(env, 'burn', '--yes', '--type', 'WATCH_AD', '--proof', '{}', '--amount', amount);

/** What was moved is written once all has expired that its source may have sent. */
async function untilExpired(env: Env): Promise<void> {
  while ((await run(env, 'db', 'accept-gap')).stderr.includes('may still land')) await setTimeout(100);
}

interface Moved {
  readonly rows: number;
  readonly wasThere: boolean;
  readonly tables: readonly { readonly name: string; readonly rows: number; readonly sha256: string }[];
}

/** An import is itself written into the audit log, and takes a number. */
const digests = ({ tables }: Moved) => tables.filter(({ name }) => !['audit_log', 'counters'].includes(name));

it('moves everything into a database and back, and the copy that was left behind notices it', async () => {
  const file = join(home, 'first.ndjson.gz');
  const exported = await answer<Moved>({ FLYWHEEL_DATA_DIR: source }, 'export', file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(gunzipSync(readFileSync(file)).toString()).not.toContain(test.project.key.reveal());
  expect((await run({ FLYWHEEL_DATA_DIR: source }, 'export', file)).exit).toBe(2);

  const machine = join(home, 'machine');
  cpSync(dataFiles(source).keys, dataFiles(machine).keys, { recursive: true });
  const inDatabase = { FLYWHEEL_DATA_DIR: machine, FLYWHEEL_DATABASE_URL: postgres.url };
  const imported = await answer<Moved>(inDatabase, 'import', file);
  expect([imported.wasThere, digests(imported)]).toEqual([false, digests(exported)]);
  expect((await run(inDatabase, 'import', file)).stderr).toBe('');
  const early = await run(
    inDatabase,
    'burn',
    '--yes',
    '--type',
    'X',
    '--proof',
    '{}',
    '--amount',
    '4',
    '--timeout',
    '1',
  );
  expect([early.exit, early.stderr]).toEqual([6, expect.stringContaining('may still land')]);
  const { heldUntilBlock } = await answer<{ heldUntilBlock: string | null }>(inDatabase, 'db', 'status');
  expect(Number(heldUntilBlock)).toBeGreaterThan(0);
  await untilExpired(inDatabase);
  await burn(inDatabase, '4');

  // What was left behind is older than the chain from then on.
  const { exit, stderr } = await run(
    { FLYWHEEL_DATA_DIR: source },
    'burn',
    '--yes',
    '--type',
    'WATCH_AD',
    '--proof',
    '{}',
    '--amount',
    '9',
    '--timeout',
    '5',
  );
  expect([exit, JSON.parse(stderr)]).toMatchObject([
    6,
    {
      error: 'ERR_STORE_BEHIND',
      hint: expect.stringContaining(`flywheel db accept-gap --data-dir ${source}`),
    },
  ]);
  const damaged = join(home, 'damaged.ndjson');
  writeFileSync(damaged, gunzipSync(readFileSync(file)).toString().replace('000000', '000001'));
  const refused = await run({ FLYWHEEL_DATA_DIR: join(home, 'never') }, 'import', damaged);
  expect([refused.exit, refused.stderr]).toEqual([2, expect.stringContaining('ERR_INPUT_INVALID')]);

  const second = join(home, 'second.ndjson');
  const out = await run(inDatabase, 'export', '-');
  expect(out.exit).toBe(0);
  writeFileSync(second, out.stdout);
  const back = join(home, 'back');
  cpSync(dataFiles(source).keys, dataFiles(back).keys, { recursive: true });
  await answer<Moved>({ FLYWHEEL_DATA_DIR: back }, 'import', second);
  await untilExpired({ FLYWHEEL_DATA_DIR: back });
  await burn({ FLYWHEEL_DATA_DIR: back }, '5');
  expect(await answer({ FLYWHEEL_DATA_DIR: back }, 'burn', 'list')).toHaveLength(5);
});

it('accepts the gap of a database once, however many do so at the same time', async () => {
  // What was moved back has burned since.
  const env = { FLYWHEEL_DATA_DIR: join(home, 'machine'), FLYWHEEL_DATABASE_URL: postgres.url };
  const check = async () => {
    const { exit, stdout } = await run(env, 'db', 'check', '--chain', '--json');
    const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean; detail: string }[] };
    return { exit, wrong: checks.filter(({ ok }) => !ok), gaps: await openGaps() };
  };
  const openGaps = async () => (await answer<{ openGaps: number }>(env, 'db', 'status')).openGaps;
  const missing = {
    name: expect.stringMatching(/^known /),
    detail: expect.stringContaining('without a record: 1,'),
  };
  const older = { exit: 9, wrong: [expect.objectContaining(missing)] };
  expect(await check()).toEqual({ ...older, gaps: 0 });
  const shown = await run(env, 'db', 'accept-gap', '--yes');
  expect([shown.exit, shown.stderr]).toEqual([2, expect.stringContaining('1 are missing')]);
  expect(await check()).toEqual({ ...older, gaps: 1 });
  const ends = await Promise.all(
    ['one', 'other'].map(() => run(env, 'db', 'accept-gap', '--yes', '--expect', '1')),
  );
  expect(ends.map(({ exit }) => exit)).toContain(0);
  for (const { exit, stdout, stderr } of ends)
    if (exit === 0) expect(JSON.parse(stdout)).toHaveProperty('accepted');
    else expect([exit, stderr]).toEqual([2, expect.stringContaining('ERR_INPUT_INVALID')]);
  const acts = await answer<readonly { action: string }[]>(env, 'audit');
  expect(acts.filter(({ action }) => action === 'gap.accept')).toHaveLength(1);
  expect(await check()).toEqual({ exit: 0, wrong: [], gaps: 0 });
  const { today } = await answer<{ today: { burn: { used: string } } }>(env, 'vault');
  expect(today.burn.used).toBe('15');
}, 60_000);

it('is a consistent backup while burns go on, and one that balances once its gap is accepted', async () => {
  const env = { FLYWHEEL_DATA_DIR: join(home, 'back') };
  const burns = (async () => {
    for (let count = 0; count < 4; count += 1) await burn(env, '1');
  })();
  const file = join(home, 'meanwhile.ndjson');
  await answer<Moved>(env, 'export', file);
  await burns;
  const restored = join(home, 'restored');
  cpSync(dataFiles(source).keys, dataFiles(restored).keys, { recursive: true });
  const there = { FLYWHEEL_DATA_DIR: restored };
  await answer<Moved>(there, 'import', file);
  await untilExpired(there);
  const shown = await run(there, 'db', 'accept-gap');
  const missing = Number(/(\d+) burns? of /.exec(shown.stderr)?.[1] ?? 0);
  if (missing > 0) await answer(there, 'db', 'accept-gap', '--yes', '--expect', String(missing));
  await burn(there, '7');
  // 1 + 2 + 3 + 4 + 5, four times 1, and 7: whatever the copy has no record of counts all the same.
  const { today } = await answer<{ today: { burn: { used: string } } }>(there, 'vault');
  expect(today.burn.used).toBe('26');
});

/** Is an import in its transaction now? */
async function isWriting(place: 'sqlite' | 'postgres', dataDir: string): Promise<boolean> {
  if (place === 'sqlite') return isLocked(dataFiles(dataDir).store);
  const { Client } = (await import('pg')).default;
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  // Of the flywheels of this test only the import holds the whole store.
  const { rowCount } = await client.query(`select 1 from pg_locks join pg_stat_activity using (pid)
    where locktype = 'advisory' and mode = 'ExclusiveLock' and granted and application_name = 'flywheel'`);
  await client.end();
  return rowCount !== 0;
}

function isLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  const Database = createRequire(import.meta.url)('libsql') as new (
    path: string,
  ) => { exec(sql: string): void; close(): void };
  const file = new Database(path);
  try {
    file.exec('begin immediate; rollback');
    return false;
  } catch {
    return true;
  } finally {
    file.close();
  }
}

it('leaves nothing that opens when it is killed in the middle, and the same import then does it', async () => {
  const file = join(home, 'second.ndjson');
  const text = readFileSync(file, 'utf8');
  for (const place of ['sqlite', 'postgres'] as const) {
    const dataDir = join(home, `killed-${place}`);
    cpSync(dataFiles(source).keys, dataFiles(dataDir).keys, { recursive: true });
    const database = new URL(postgres.url);
    database.searchParams.set('options', '-c search_path=killed');
    const pg = (await import('pg')).default;
    if (place === 'postgres') {
      const client = new pg.Client({ connectionString: postgres.url });
      await client.connect();
      await client.query('create schema killed');
      await client.end();
    }
    const env: Env = {
      ...{
        FLYWHEEL_DATA_DIR: dataDir,
        FLYWHEEL_RPC_URL: node.url,
        FLYWHEEL_API_KEY: test.project.key.reveal(),
      },
      ...(place === 'postgres' && { FLYWHEEL_DATABASE_URL: database.href }),
    };
    const child = startFlywheel({ home, env }, ['import', '-']);
    child.stdin?.write(text.slice(0, -200));
    while (!(await isWriting(place, dataDir))) await setTimeout(20);
    child.kill('SIGKILL');
    await once(child, 'close');
    expect((await run(env, 'vault')).exit).toBe(2);
    expect(await answer<Moved>(env, 'import', file)).toMatchObject({ wasThere: false });
    expect((await run(env, 'vault')).exit).toBe(0);
  }
});

it('has a directory to itself while it goes on', async () => {
  const file = join(home, 'second.ndjson');
  const text = readFileSync(file, 'utf8');
  const dataDir = join(home, 'at-once');
  cpSync(dataFiles(source).keys, dataFiles(dataDir).keys, { recursive: true });
  const env = { FLYWHEEL_DATA_DIR: dataDir };
  const child = startFlywheel(
    { home, env: { ...env, FLYWHEEL_RPC_URL: node.url, FLYWHEEL_API_KEY: test.project.key.reveal() } },
    ['import', '-'],
  );
  child.stdin?.write(text.slice(0, -200));
  while (!(await isWriting('sqlite', dataDir))) await setTimeout(20);
  const second = await run(env, 'import', file);
  expect([second.exit, second.stderr]).toEqual([6, expect.stringContaining('in use by another')]);
  child.stdin?.end(text.slice(-200));
  await once(child, 'close');
  expect(child.exitCode).toBe(0);
  expect((await run(env, 'vault')).exit).toBe(0);
  const third = await run(env, 'import', file);
  expect([third.exit, third.stderr]).toEqual([2, expect.stringContaining('ERR_LOCAL_ALREADY_EXISTS')]);
});
