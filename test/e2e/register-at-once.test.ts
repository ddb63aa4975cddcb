/**
 * `flywheel register` into one database from two machines: of what both would have one has it, from before it pays. Machines share
 * the database and the chain, and nothing else.
 */
import type { ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { address } from '../../src/values/address.js';
import { removeDirectories, type TestToken } from '../support/chain.js';
import { type DatabaseWay, openDatabaseWay } from '../support/database-way.js';
import { closeTestNodes, startTestNode, type TestNode } from '../support/local-rpc.js';
import { type OwnDatabase, openDatabase } from '../support/postgres.js';
import {
  addTokens,
  SQUADS_FEE,
  SQUADS_TREASURY,
  type TestProject,
  testProject,
} from '../support/registration.js';
import { rpcResult } from '../support/rpc-call.js';
import { rpcChain } from '../support/rpc-chain.js';
import { emptyDirectory, flywheel, type Spawned, startFlywheel } from '../support/spawn.js';

const SLOTS = { pace: 'clock', slotMs: 20, confirmedAfter: 1, finalizedAfter: 4 } as const;
/** How often two begin at the same moment. */
const RACES = 3;

let project: TestProject;
const tokens: TestToken[] = [];
let node: TestNode;
let postgres: OwnDatabase;
let way: DatabaseWay;
beforeAll(async () => {
  project = await testProject({ lamports: 5_000_000_000n });
  tokens.push(
    ...(await addTokens(
      project.directory,
      Array.from({ length: 12 }, (_, at) => `mint ${at}`),
    )),
  );
  node = await startTestNode({ directory: project.directory, ...SLOTS });
  postgres = await openDatabase();
  way = await openDatabaseWay(postgres.url);
}, 120_000);
afterAll(async () => {
  await closeTestNodes();
  await way.end();
  await postgres.stop();
  removeDirectories();
});

/** Those that have to be gone when a test has failed. */
const started: ChildProcess[] = [];
beforeEach(() => node.faults.set([]));
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

interface TestMachine {
  readonly home: string;
  readonly dataDir: string;
  readonly env: Record<string, string>;
}

function machine(url = postgres.url): TestMachine {
  const home = emptyDirectory();
  const dataDir = join(home, 'data');
  const env = { FLYWHEEL_DATA_DIR: dataDir, FLYWHEEL_DATABASE_URL: url, FLYWHEEL_RPC_URL: node.url };
  return { home, dataDir, env };
}

const words = (name: string, { mint }: TestToken, ...more: string[]): string[] => [
  ...['register', '--cluster', node.url, '--project', name, '--mint', mint, '--owner', project.owner.address],
  ...['--operator-keypair', project.files.operator, '--yes', '--json', ...more],
];

interface Registered {
  readonly registration: { readonly multisig: string; readonly burnWallet: string };
}

const done = ({ exit, stdout, stderr }: Spawned): Registered => {
  expect([exit, stderr]).toEqual([0, expect.any(String)]);
  return JSON.parse(stdout);
};

const failure = ({ stderr }: Spawned) =>
  JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as { error: string; message: string; hint: string };

const lamports = async (of: string): Promise<bigint> =>
  (await rpcChain([node.url]).chain.getAccounts([address(of)]))[0]?.lamports ?? 0n;

/** What the operator and Squads hold. */
const held = () => Promise.all([project.operator.address, SQUADS_TREASURY].map(lamports));

/** What one registration costs: the fee of Squads, a multisig, two token accounts, two signatures. */
async function expectPaidOnce(before: readonly bigint[], multisig: string): Promise<void> {
  const [operator = 0n, squads = 0n] = await held();
  expect(squads - (before[1] ?? 0n)).toBe(SQUADS_FEE);
  const rent = await lamports(multisig);
  expect((before[0] ?? 0n) - operator).toBe(SQUADS_FEE + rent + 2n * 2_039_280n + 10_000n);
}

const fileOf = ({ dataDir }: TestMachine, { mint }: TestToken): string =>
  join(dataDir, `registration-${mint}.json`);

/** What a machine keeps of registrations and keys. */
const filesOf = ({ dataDir }: TestMachine): readonly string[] =>
  existsSync(dataDir)
    ? readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.json'))
    : [];

interface Held {
  readonly child: ChildProcess;
  readonly ended: Promise<Spawned>;
}

/** One that has signed and sends, and nothing of what it sends arrives. */
async function sending(at: TestMachine, name: string, token: TestToken, ...more: string[]): Promise<Held> {
  node.faults.set([{ fault: 'drop', rate: 1 }]);
  const child = startFlywheel(at, words(name, token, ...more));
  started.push(child);
  const parts = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream]?.on('data', (chunk: Buffer) => {
      parts[stream] += chunk.toString('utf8');
    });
  const ended = new Promise<Spawned>((resolve) =>
    child.once('close', (exit, signal) => resolve({ exit, signal, ...parts })),
  );
  const hasSigned = (): boolean =>
    existsSync(fileOf(at, token)) && readFileSync(fileOf(at, token), 'utf8').includes('"wire"');
  while (child.exitCode === null && !hasSigned()) await setTimeout(10);
  return { child, ended };
}

const next = (): TestToken => tokens.pop() as TestToken;

/** What a refusal says of the one that is in the way. */
const begunBy = (what: string, { child }: Held): RegExp =>
  new RegExp(
    `A registration ${what} .*was begun on 20.* by .+@${hostname()} pid ${child.pid} and is not done; this command has sent nothing`,
  );

const idIn = (hint: string): string => /--take-over ([0-9a-f-]{36})/.exec(hint)?.[1] ?? '';

describe('two machines that register the same', () => {
  it.each(Array.from({ length: RACES }, (_, index) => index))(
    'at the same moment pay once, and both find it in the end (%i)',
    async (index) => {
      const token = next();
      const machines = [machine(), machine()];
      const before = await held();
      const ended = await Promise.all(machines.map((one) => flywheel(one, ...words(`race-${index}`, token))));
      expect(ended.map(({ exit }) => exit)).toContain(0);
      for (const [at, one] of ended.entries()) {
        if (one.exit === 0) continue;
        expect(failure(one)).toMatchObject({
          error: 'ERR_STORE_UNAVAILABLE',
          message: expect.stringContaining('this command has sent nothing'),
        });
        expect(filesOf(machines[at] as TestMachine)).toEqual([]);
      }
      const found = [];
      for (const one of machines) found.push(done(await flywheel(one, ...words(`race-${index}`, token))));
      expect(found[0]?.registration).toEqual(found[1]?.registration);
      await expectPaidOnce(before, found[0]?.registration.multisig ?? '');
    },
    60_000,
  );

  it('are told of each other before anything is paid, and the first goes on', async () => {
    const [token, other] = [next(), next()];
    const [first, second] = [machine(), machine()];
    const before = await held();
    const begun = await sending(first, 'shop', token);
    for (const dryRun of [['--dry-run'], []])
      expect(failure(await flywheel(second, ...words('store', token, ...dryRun)))).toMatchObject({
        error: 'ERR_STORE_UNAVAILABLE',
        message: expect.stringMatching(begunBy('of the same mint', begun)),
        hint: expect.stringMatching(
          /^Is it at work\? Wait until it is done, then run the same command again\./,
        ),
      });
    const sameName = failure(await flywheel(second, ...words('shop', other)));
    expect(sameName.message).toMatch(begunBy('of the same name', begun));
    expect(sameName.hint).not.toContain('--multisig');
    node.faults.set([]);
    const { registration } = done(await begun.ended);
    await expectPaidOnce(before, registration.multisig);
    expect(done(await flywheel(second, ...words('shop', token))).registration).toEqual(registration);
    expect(failure(await flywheel(second, ...words('shop', other)))).toMatchObject({
      error: 'ERR_LOCAL_ALREADY_EXISTS',
      hint: expect.stringContaining('flywheel vault --project shop'),
    });
    await expectPaidOnce(before, registration.multisig);
  }, 60_000);

  it('leave those alone that register something else', async () => {
    const [token, other] = [next(), next()];
    const begun = await sending(machine(), 'one', token);
    node.faults.set([]);
    const [first, second] = await Promise.all([begun.ended, flywheel(machine(), ...words('two', other))]);
    expect(done(second).registration).not.toEqual(done(first).registration);
  }, 60_000);
});

describe('a registration whose machine is cut off', () => {
  it('sends nothing once it does not know that it has its place, and goes on from there', async () => {
    const token = next();
    const [first, second] = [machine(way.url), machine()];
    const before = await held();
    const begun = await sending(first, 'cut', token);
    way.close(true);
    way.cut();
    expect(failure(await begun.ended).error).toBe('ERR_STORE_UNAVAILABLE');
    node.faults.set([]);
    way.close(false);
    expect(failure(await flywheel(second, ...words('cut', token))).message).toMatch(
      begunBy('of the same mint', begun),
    );
    expect(await held()).toEqual(before);
    const { registration } = done(await flywheel(first, ...words('cut', token)));
    await expectPaidOnce(before, registration.multisig);
  }, 60_000);

  it('leaves what it has paid for to the one that takes its place, by a word of its own', async () => {
    const token = next();
    const [lost, other] = [machine(), machine()];
    const before = await held();
    const begun = await sending(lost, 'lost', token);
    begun.child.kill('SIGKILL');
    expect((await begun.ended).signal).toBe('SIGKILL');
    node.faults.set([]);
    const { sent } = JSON.parse(readFileSync(fileOf(lost, token), 'utf8'));
    // Signed a moment ago: its blockhash is confirmed, and not always final yet.
    const terms = { encoding: 'base64', preflightCommitment: 'confirmed' };
    await rpcResult(node.url, 'sendTransaction', sent.wire, terms);
    while ((await held())[1] === before[1]) await setTimeout(5);
    const { message, hint } = failure(await flywheel(other, ...words('lost', token)));
    expect(message).toMatch(begunBy('of the same mint', begun));
    const multisig = /--multisig (\w+)/.exec(hint)?.[1] ?? '';
    const takeOver = ['--take-over', idIn(hint)];
    expect(failure(await flywheel(other, ...words('lost', token, '--take-over', 'another'))).message).toBe(
      message,
    );
    const { registration } = done(
      await flywheel(other, ...words('lost', token, ...takeOver, '--multisig', multisig)),
    );
    expect(registration.multisig).toBe(multisig);
    expect((await held())[1]).toBe((before[1] ?? 0n) + SQUADS_FEE);
    // What was lost is found again, and finds what there is.
    expect(done(await flywheel(lost, ...words('lost', token))).registration).toEqual(registration);
    expect(existsSync(fileOf(lost, token))).toBe(false);
    expect((await held())[1]).toBe((before[1] ?? 0n) + SQUADS_FEE);
  }, 60_000);

  it('sends nothing more when another has taken its place', async () => {
    const token = next();
    const [first, second] = [machine(), machine()];
    const before = await held();
    const begun = await sending(first, 'taken', token);
    const { hint } = failure(await flywheel(second, ...words('taken', token)));
    const other = await sending(second, 'taken', token, '--take-over', idIn(hint));
    expect(failure(await begun.ended)).toMatchObject({
      error: 'ERR_STORE_UNAVAILABLE',
      message: expect.stringMatching(/^Another registration has taken the place of this one/),
    });
    expect(failure(await flywheel(first, ...words('taken', token))).message).toMatch(
      begunBy('of the same mint', other),
    );
    node.faults.set([]);
    const { registration } = done(await other.ended);
    await expectPaidOnce(before, registration.multisig);
  }, 60_000);

  it('leaves its place when it has sent nothing', async () => {
    const token = next();
    const one = machine();
    const program = join(one.home, 'refuse.mjs');
    writeFileSync(program, 'process.exit(1);');
    const failed = await flywheel(
      one,
      ...['register', '--cluster', node.url, '--project', 'none', '--mint', token.mint, '--yes', '--json'],
      ...['--owner', project.owner.address, '--operator', project.operator.address],
      ...['--operator-signer', `node ${program}`],
    );
    expect(failure(failed).error).toBe('ERR_SIGNER_FAILED');
    const before = await held();
    const { registration } = done(await flywheel(machine(), ...words('none', token)));
    await expectPaidOnce(before, registration.multisig);
  }, 60_000);
});
