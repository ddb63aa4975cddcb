/** An operator with the built command line and a project, on this machine or behind a service that can be cut off. */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import bs58 from 'bs58';
import { expect } from 'vitest';
import { FILES, JournalTables, LedgerTables, StoreTables } from '../simulation/audit/tables.js';
import { type Fault, faultEnvironment, LEASE_MS } from '../support/faults.js';
import { flywheelHere, serveHere } from '../support/flywheel-here.js';
import { initHome, type Made } from '../support/http-serve.js';
import {
  BIN,
  CODE_CACHE,
  emptyDirectory,
  ending,
  flywheel,
  problemOf,
  type Spawned,
  shellWords,
  startFlywheel,
} from '../support/spawn.js';
import { startNodeBeside, type TestNode } from '../test-cluster/node.js';
import { type Gate, startGate } from './gate.js';

export { ending, problemOf };

/** Tests send more requests of a kind than a service takes from one key. */
const RATES = ['burn', 'burn-batch', 'init', 'execute', 'cancel', 'status', 'current', 'approval', 'list']
  .concat(['pipelines', 'burns', 'report', 'key'])
  .flatMap((operation) => ['--rate', `${operation}=10000/s`]);

/** Offset of the supply in a mint account. */
const SUPPLY_OFFSET = 36;

export type Mode = 'embedded' | 'remote';

export interface Template {
  readonly dataDir: string;
  readonly key: string;
  readonly made: Made;
  readonly lamports: bigint;
  readonly operatorLamports: bigint;
  readonly vaultLamports: bigint;
  pinned?: { readonly text: string; readonly gate: string; readonly node: string };
}

/** The state of store and chain, read without the command line. */
export interface Happened {
  readonly burned: string;
  readonly usedToday: { readonly burn: string; readonly airdrop: string };
  /** Statuses of all batches, oldest first; `CANCELLED` for a cancelled batch. */
  readonly batches: readonly string[];
}

interface PendingRow {
  readonly id: string;
  readonly operation: string;
  readonly outcome: string;
  readonly resume: string;
}

const isUnknown = ({ outcome }: PendingRow): boolean => outcome !== 'waits for approval';

export type Operator = Awaited<ReturnType<typeof anOperator>>;

export function gateOf({ gate }: Operator): Gate {
  if (gate === null) throw new TypeError('There is nothing between this operator and the service.');
  return gate;
}

const templates = new Map<string, Promise<Template>>();

/** Made once a process for the same words. */
export function makeTemplate(...words: readonly string[]): Promise<Template> {
  const name = words.join(' ');
  const template = templates.get(name) ?? initiatedBy(words);
  templates.set(name, template);
  return template;
}

async function initiatedBy(words: readonly string[]): Promise<Template> {
  const { dataDir, key, made } = await initHome(...words);
  const ledger = new LedgerTables(join(dataDir, FILES.ledger));
  const lamportsOf = (address: string): bigint => ledger.account(bs58.decode(address))?.lamports ?? 0n;
  const lamports = ledger.lamports();
  const operatorLamports = lamportsOf(made.operator);
  const vaultLamports = lamportsOf(made.vaultAddress);
  ledger.close();
  return { dataDir, key, made, lamports, operatorLamports, vaultLamports };
}

/** A line with one command and no redirection or chaining. */
const isOneCommand = (line: string): boolean => /^flywheel [^>|&;]*$/.test(line);

async function openRemote(directory: string, dataDir: string, template: Template, pinned: boolean) {
  const [server, node] = await Promise.all([
    serveHere({ home: join(directory, 'server'), dataDir }, ...RATES),
    pinned ? startNodeBeside(dataDir) : null,
  ]);
  const gate = await startGate(server.url, [template.key]);
  await (node === null ? addProfile(directory, template, gate) : pinProfile(directory, template, gate, node));
  return { server, gate, node };
}

async function addProfile(
  home: string,
  template: Template,
  gate: Gate,
  ...more: readonly string[]
): Promise<void> {
  const words = ['profile', 'add', 'works', '--api-key-stdin', '--api-url', gate.url, ...more];
  expect((await flywheelHere({ home, stdin: template.key }, ...words)).stderr).toBe('');
}

/** Pins by command once; later operators get a copy with their own addresses. */
async function pinProfile(home: string, template: Template, gate: Gate, node: TestNode): Promise<void> {
  const { made, pinned } = template;
  const file = join(home, '.config/flywheel/profiles.json');
  if (pinned !== undefined) {
    const text = pinned.text.replaceAll(pinned.gate, gate.url).replaceAll(pinned.node, node.url);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    return writeFileSync(file, text, { mode: 0o600 });
  }
  const pins = ['--multisig', made.multisig, '--owner', made.owner.address, '--operator', made.operator];
  await addProfile(home, template, gate, '--rpc-url', node.url, '--mint', made.mintAddress, ...pins);
  expect(await flywheelHere({ home }, 'profile', 'pin', '--yes')).toMatchObject({ exit: 0 });
  template.pinned = { text: readFileSync(file, 'utf8'), gate: gate.url, node: node.url };
}

/** @param init - words of `local init`, or an earlier state. */
export async function anOperator(
  mode: Mode,
  init: readonly string[] | Template = [],
  { pinned = true }: { readonly pinned?: boolean } = {},
) {
  const template = 'made' in init ? init : await makeTemplate(...init);
  const directory = emptyDirectory();
  const dataDir =
    mode === 'embedded' ? join(directory, '.local/share/flywheel') : join(directory, 'server/data');
  mkdirSync(dataDir, { recursive: true });
  cpSync(template.dataDir, dataDir, { recursive: true });
  const owner = join(directory, 'owner.json');
  cpSync(join(dataDir, 'owner.json'), owner);
  const remote = mode === 'embedded' ? null : await openRemote(directory, dataDir, template, pinned);
  // The service answers at once or never here, so tests set short timeouts.
  const withFlags = (words: readonly string[]): readonly string[] =>
    mode === 'embedded' || words[1] === 'remove' ? words : [...words, '--max-wait', '0'];
  // Leases of a killed command have to expire, so later commands run with a clock this far ahead.
  let laterMs = 0;
  const environment = (fault: Fault = {}): { home: string; env: Record<string, string> } => {
    const clockAheadMs = laterMs + (fault.clockAheadMs ?? 0);
    const isPlain = clockAheadMs === 0 && Object.keys(fault).length === 0;
    const env = isPlain ? {} : faultEnvironment({ ...fault, clockAheadMs }, dataDir);
    return { home: directory, env };
  };
  const runAhead = (clockAheadMs: number, words: readonly string[]) =>
    flywheelHere({ home: directory, clockAheadMs }, ...withFlags(words));
  const run = (...words: readonly string[]) => runAhead(laterMs, words);
  return {
    mode,
    /** The state from which it began. */
    template,
    directory,
    dataDir,
    owner,
    key: template.key,
    /** Between the command line and the service; `null` on this machine. */
    gate: remote?.gate ?? null,
    /** Behind the gate, which has a key of its own. */
    server: remote?.server.url ?? '',
    /** The node in its profile. */
    node: remote?.node?.url ?? null,
    write: (name: string, content: unknown): string => {
      writeFileSync(join(directory, name), JSON.stringify(content));
      return name;
    },
    run,
    /** Spawns a process unless the fault is only a wrong clock. */
    runWith: async (fault: Fault, ...words: readonly string[]): Promise<Spawned> => {
      const { clockAheadMs, ...death } = fault;
      if (clockAheadMs !== undefined && Object.keys(death).length === 0)
        return runAhead(laterMs + clockAheadMs, words);
      const ended = await flywheel(environment(fault), ...withFlags(words));
      if (ended.signal === 'SIGKILL') laterMs += LEASE_MS;
      return ended;
    },
    /** After a kill of what {@link start} has started. */
    passLease: (): void => {
      laterMs += LEASE_MS;
    },
    start: (...words: readonly string[]) => startFlywheel(environment(), withFlags(words)),
    /** Runs a printed line as a shell reads it. */
    paste: async (line: string): Promise<Spawned> =>
      isOneCommand(line)
        ? flywheelHere(
            { home: directory, cwd: tmpdir(), clockAheadMs: laterMs },
            ...shellWords(line, directory),
          )
        : ending(
            spawn('bash', ['-c', `flywheel() { '${process.execPath}' '${BIN}' "$@"; }\n${line}`], {
              cwd: tmpdir(),
              env: {
                ...environment().env,
                HOME: directory,
                PATH: process.env['PATH'],
                XDG_CACHE_HOME: CODE_CACHE,
              },
            }),
          ),
    /** Excludes batches that wait for approval. */
    pending: async (): Promise<readonly PendingRow[]> =>
      (JSON.parse((await run('pending', '--json')).stdout) as readonly PendingRow[]).filter(isUnknown),
    /** Operations that the journal has as unfinished or unreported, read without the program. */
    open: (): readonly string[] => {
      const directoryOf = mode === 'embedded' ? dataDir : join(directory, '.config/flywheel');
      const path = join(directoryOf, FILES.journal);
      if (!existsSync(path)) return [];
      const journal = new JournalTables(path);
      const open = journal.openOperations();
      journal.close();
      return open;
    },
    happened: async (): Promise<Happened> => happenedIn(dataDir, template.made.mintAddress),
    leave: async () => {
      await remote?.gate.close();
      await remote?.node?.close(100);
      await remote?.server.end('SIGTERM');
    },
  };
}

function happenedIn(dataDir: string, mint: string): Happened {
  const store = new StoreTables(join(dataDir, FILES.store));
  const ledger = new LedgerTables(join(dataDir, FILES.ledger));
  const { supply, decimals } = store.token(mint);
  const whole = (units: bigint): string => {
    const text = units.toString().padStart(decimals + 1, '0');
    return `${text.slice(0, -decimals)}.${text.slice(-decimals)}`.replace(/\.?0+$/, '');
  };
  const left = ledger.account(bs58.decode(mint))?.data.readBigUInt64LE(SUPPLY_OFFSET) ?? 0n;
  const day = new Date().toISOString().slice(0, 10);
  const happened = {
    burned: whole(supply - left),
    usedToday: { burn: whole(store.used('burn', day)), airdrop: whole(store.used('airdrop', day)) },
    batches: store.batchStatuses(),
  };
  store.close();
  ledger.close();
  return happened;
}

/** Kill points of a run, from its own list of commits; those of `money` lie between an intent and its outcome. */
export function pointsIn(listFile: string) {
  const names = JSON.parse(readFileSync(listFile, 'utf8')) as readonly string[];
  const isMoney = (at: number): boolean => names[at] === FILES.store || names[at] === FILES.ledger;
  // Commits before the journal is opened belong to no operation.
  const from = names.indexOf(FILES.journal);
  const money = names.flatMap((_, at) => {
    if (at < from || !isMoney(at)) return [];
    return [...(isMoney(at - 1) ? [] : [2 * at + 2]), ...(isMoney(at + 1) ? [] : [2 * at + 1])];
  });
  return { count: 2 * names.length, money };
}

export const resumeLineOf = (spawned: Spawned): string =>
  /(?:Resume it|nothing happens twice): `?(flywheel [^`]*)/.exec(problemOf(spawned).hint ?? '')?.[1] ?? '';

const partOf = (text: string | RegExp) =>
  typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text);

interface ProblemTexts {
  readonly error?: string;
  readonly stdout?: string;
  /** Parts of them. */
  readonly message?: string | RegExp;
  readonly hint?: string | RegExp;
}

export function expectProblem(
  ended: Spawned,
  exit: number,
  { message = '', hint, ...exact }: ProblemTexts,
): void {
  const parts = { message: partOf(message), ...(hint === undefined ? {} : { hint: partOf(hint) }) };
  expect({ ...ended, ...problemOf(ended) }).toMatchObject({ exit, ...exact, ...parts });
}
