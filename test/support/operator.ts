/** A person at the built command line with a flywheel of their own: on this machine, or behind a service that can be cut off. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openDirectory } from './crash.js';
import { type Gate, startGate } from './gate.js';
import { type ServeProcess, serve } from './http-serve.js';
import { type RpcNode, startRpcNode } from './rpc-node.js';
import { emptyDirectory, flywheel, type Spawned, startFlywheel } from './spawn.js';
import { rawSqlite } from './store.js';

const ROOT = new URL('../..', import.meta.url).pathname;
const FAULT_POINTS = join(ROOT, 'test/support/fault-points.cjs');

/** More than an operator sends of any one request. */
const SPARE_KEYS = 40;

export type Mode = 'embedded' | 'remote';

/** A registered flywheel, to be copied. */
export interface Template {
  readonly dataDir: string;
  /** What `local init` said. */
  readonly made: Registered;
  /** API keys beside the first, once an operator behind a service was made of it. */
  readonly keys: string[];
}

interface Registered {
  readonly apiKey: { readonly key: string };
  readonly multisig: string;
  readonly owner: { readonly address: string };
  readonly operator: string;
  readonly mintAddress: string;
}

/** What has really happened, read without the command line. */
export interface Happened {
  readonly burned: string;
  readonly usedToday: { readonly burn: string; readonly airdrop: string };
  /** Statuses of all batches, oldest first; `CANCELLED` for one that was. */
  readonly batches: readonly string[];
}

export interface PendingRow {
  readonly id: string;
  readonly operation: string;
  readonly outcome: string;
  readonly resume: string;
}

/** What is done to one command. */
export interface Fault {
  readonly signal?: 'SIGINT' | 'SIGKILL';
  /** Which commit, counted from 1 before and after each. */
  readonly point?: number;
  readonly clockAheadMs?: number;
  readonly countFile?: string;
}

export interface Operator {
  readonly mode: Mode;
  readonly directory: string;
  readonly dataDir: string;
  /** The owner's keypair file. */
  readonly owner: string;
  readonly key: string;
  /** Between the command line and the service; `null` on this machine. */
  readonly gate: Gate | null;
  write(name: string, content: unknown): string;
  run(...words: readonly string[]): Promise<Spawned>;
  runWith(fault: Fault, ...words: readonly string[]): Promise<Spawned>;
  start(...words: readonly string[]): ChildProcess;
  /** Runs a line as it was printed, in a shell somewhere else. */
  paste(line: string): Promise<Spawned>;
  pending(): Promise<readonly PendingRow[]>;
  happened(): Promise<Happened>;
  leave(): Promise<void>;
}

/** A flywheel that operators can be given copies of. */
export async function makeTemplate(...words: readonly string[]): Promise<Template> {
  const directory = emptyDirectory();
  const dataDir = join(directory, 'data');
  const init = ['local', 'init', '--data-dir', dataDir, '--json', ...words];
  const { stdout, stderr } = await flywheel({ home: directory }, ...init);
  if (stdout === '') throw new TypeError(`local init failed: ${stderr}`);
  return { dataDir, made: JSON.parse(stdout) as Registered, keys: [] };
}

/** Gives the template its spare keys, which only operators behind a service need. */
async function addKeys({ dataDir, keys }: Template): Promise<void> {
  if (keys.length > 0) return;
  const { engine, close } = await openDirectory(dataDir);
  const terms = { scopes: ['burn', 'airdrop'], proofTypes: null } as const;
  for (let count = 0; count < SPARE_KEYS; count += 1) keys.push((await engine.createKey(terms)).key);
  await close();
}

/** Collects what a child says until it is gone. */
export function ending(child: ChildProcess): Promise<Spawned> {
  const parts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.on('data', (chunk: Buffer) => {
      parts[name] += chunk.toString('utf8');
    });
  child.stdin?.on('error', () => undefined);
  child.stdin?.end();
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exit, signal) => resolve({ exit, signal, ...parts }));
  });
}

interface Remote {
  readonly server: ServeProcess;
  readonly gate: Gate;
  readonly node: RpcNode;
}

async function openRemote(
  directory: string,
  dataDir: string,
  { made, keys }: Template,
  pinned: boolean,
): Promise<Remote> {
  const key = { key: made.apiKey.key, keyId: '', burnWallet: '' };
  const server = await serve({ home: join(directory, 'server'), dataDir, ...key });
  const [gate, node] = await Promise.all([startGate(server.url, keys), startRpcNode(dataDir)]);
  const pins = ['--multisig', made.multisig, '--owner', made.owner.address, '--operator', made.operator];
  const checked = ['--rpc-url', node.url, '--mint', made.mintAddress, ...pins];
  const profile = ['--api-url', gate.url, ...(pinned ? checked : [])];
  const added = await flywheel(
    { home: directory, stdin: made.apiKey.key },
    ...['profile', 'add', 'works', '--api-key-stdin', ...profile],
  );
  expect(added.stderr).toBe('');
  if (pinned)
    expect(await flywheel({ home: directory }, 'profile', 'pin', '--yes')).toMatchObject({ exit: 0 });
  return { server, gate, node };
}

const faultEnvironment = ({ signal, point, clockAheadMs, countFile }: Fault): Record<string, string> => ({
  NODE_OPTIONS: `--require=${FAULT_POINTS}`,
  ...(signal === undefined ? {} : { FAULT_SIGNAL: signal }),
  ...(point === undefined ? {} : { FAULT_POINT: String(point) }),
  ...(clockAheadMs === undefined ? {} : { FAULT_CLOCK_AHEAD_MS: String(clockAheadMs) }),
  ...(countFile === undefined ? {} : { FAULT_COUNT_FILE: countFile }),
});

/** An operator with a copy of the template. */
export async function anOperator(
  mode: Mode,
  template: Template,
  { pinned = true }: { readonly pinned?: boolean } = {},
): Promise<Operator> {
  if (mode === 'remote') await addKeys(template);
  const directory = emptyDirectory();
  const dataDir =
    mode === 'embedded' ? join(directory, '.local/share/flywheel') : join(directory, 'server/data');
  mkdirSync(dataDir, { recursive: true });
  cpSync(template.dataDir, dataDir, { recursive: true });
  const owner = join(directory, 'owner.json');
  cpSync(join(dataDir, 'owner.json'), owner);
  const remote = mode === 'embedded' ? null : await openRemote(directory, dataDir, template, pinned);
  // The service here answers at once or never, and a test has no time to wait for a second try.
  const flags = mode === 'embedded' ? [] : ['--max-wait', '0'];
  const withFlags = (words: readonly string[]): readonly string[] => [...words, ...flags];
  const run = (...words: readonly string[]) => flywheel({ home: directory }, ...withFlags(words));
  return {
    mode,
    directory,
    dataDir,
    owner,
    key: template.made.apiKey.key,
    gate: remote?.gate ?? null,
    write: (name, content) => {
      writeFileSync(join(directory, name), JSON.stringify(content));
      return name;
    },
    run,
    runWith: (fault, ...words) =>
      flywheel({ home: directory, env: faultEnvironment(fault) }, ...withFlags(words)),
    start: (...words) => startFlywheel({ home: directory }, withFlags(words)),
    paste: (line) =>
      ending(
        spawn(
          'bash',
          ['-c', `flywheel() { '${process.execPath}' '${ROOT}bin/flywheel.js' "$@"; }\n${line}`],
          {
            cwd: tmpdir(),
            env: { HOME: directory, PATH: process.env['PATH'] },
          },
        ),
      ),
    pending: async () => JSON.parse((await run('pending', '--json')).stdout) as readonly PendingRow[],
    happened: () => happenedIn(dataDir),
    leave: async () => {
      await remote?.gate.close();
      await remote?.node.close();
      await remote?.server.end('SIGTERM');
    },
  };
}

async function happenedIn(dataDir: string): Promise<Happened> {
  const { engine, close } = await openDirectory(dataDir);
  const { burned, usedToday } = await engine.status();
  await close();
  const rows = rawSqlite(
    join(dataDir, 'store.db'),
    'select status, date_cancelled from batches order by rowid',
  );
  const batches = rows.map(({ status, date_cancelled: date }) =>
    date === null ? String(status) : 'CANCELLED',
  );
  return { burned, usedToday, batches };
}

/** The last thing said on stderr, which is the error where there is one. */
export const problemOf = ({ stderr }: Spawned): { error?: string; message?: string; hint?: string } =>
  JSON.parse(stderr.trim().split('\n').at(-1) || '{}');

/** The command that an error says to go on with. */
export const resumeLineOf = (spawned: Spawned): string =>
  /(?:This resumes safely: |To go on: `)(flywheel pending resume [^`]*)/.exec(
    problemOf(spawned).hint ?? '',
  )?.[1] ?? '';
