/** Several processes on one ledger, and processes that are killed: money is neither made nor lost. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TREASURY_LAMPORTS } from '../../src/chain/local/ledger/genesis.js';
import { openLocalChain } from '../../src/chain/local/local-chain.js';
import { openSqliteFile } from '../../src/files/sqlite-file.js';
import { systemClock } from '../../src/values/time.js';
import {
  chainOptions,
  createToken,
  removeDirectories,
  type TestToken,
  temporaryDirectory,
} from '../support/chain.js';

const ROOT = new URL('../../', import.meta.url).pathname;
// Inside node_modules, so that the bundle finds the packages it imports.
const OUTPUT = join(ROOT, 'node_modules', '.cache', `flywheel-burner-${process.pid}`);
const BURNER = join(OUTPUT, 'chain-burner.mjs');
const SUPPLY = 1_000_000n;
const PROGRAM_CONFIG_LAMPORTS = (128n + 144n) * 6_960n;

let directory: string;
let token: TestToken;

beforeAll(async () => {
  mkdirSync(OUTPUT, { recursive: true });
  await build({
    entryPoints: [join(ROOT, 'test/support/chain-burner.ts')],
    outfile: BURNER,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'silent',
  });
});
afterAll(() => {
  rmSync(OUTPUT, { recursive: true, force: true });
  removeDirectories();
});

beforeEach(async () => {
  directory = temporaryDirectory();
  const chain = await openLocalChain(chainOptions(directory, systemClock));
  token = await createToken(chain, SUPPLY);
  await chain.close();
});

interface Burner {
  readonly child: ChildProcess;
  /** Signatures that the process was told are taken. */
  readonly promised: string[];
  /** Resolves with the exit code, `null` when killed. */
  readonly ended: Promise<number | null>;
}

function burn(
  order: { lane: number; lists: number; listLength: number },
  onList?: (lists: number) => void,
): Burner {
  const child = spawn(process.execPath, [BURNER, JSON.stringify({ directory, ...order })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const promised: string[] = [];
  let lines = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (lines > 0 && line !== '') promised.push(...line.split(' '));
    onList?.(lines);
    lines += 1;
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', (code) => resolve(code)));
  return { child, promised, ended };
}

/** Reads the whole ledger with plain SQL and checks that its books balance. @returns how many burns it holds. */
async function audit(promised: readonly string[]): Promise<number> {
  const database = await openSqliteFile({
    noun: 'ledger',
    path: join(directory, 'ledger.db'),
    use: 'reader',
    create: false,
    inspect: () => undefined,
  });
  expect(database.prepare('PRAGMA integrity_check').all([])).toEqual([['ok']]);
  const sum = (sql: string): bigint =>
    database
      .prepare(sql)
      .all([])
      .reduce((total, [value]) => total + BigInt(String(value)), 0n);
  const lamports = sum('SELECT lamports FROM accounts');
  const fees = sum('SELECT fee_lamports FROM transactions');
  expect(lamports + fees).toBe(TREASURY_LAMPORTS + PROGRAM_CONFIG_LAMPORTS);

  const count = database.number('SELECT count(*) FROM transactions');
  expect(database.number('SELECT count(DISTINCT substr(wire, 2, 64)) FROM transactions')).toBe(count);
  expect(database.number('SELECT count(*) FROM transactions WHERE error IS NOT NULL')).toBe(0);
  expect(database.number('SELECT max(height) FROM blocks')).toBe(count);
  expect(database.number('SELECT count(DISTINCT slot) FROM transactions')).toBe(count);
  database.close();

  const chain = await openLocalChain({ ...chainOptions(directory), readOnly: true });
  const burns = count - 1;
  expect(await token.supply(chain)).toBe(SUPPLY - BigInt(burns));
  expect(await token.balance(chain)).toBe(SUPPLY - BigInt(burns));
  const records = await chain.lookUp(promised);
  expect(records.filter((record) => record === null)).toEqual([]);
  await chain.close();
  return burns;
}

describe('two processes on one ledger', () => {
  it('burn at the same time, and every burn counts exactly once', async () => {
    const burners = [1, 2].map((lane) => burn({ lane, lists: 40, listLength: 8 }));
    expect(await Promise.all(burners.map(({ ended }) => ended))).toEqual([0, 0]);
    const promised = burners.flatMap((burner) => burner.promised);
    expect(promised).toHaveLength(640);
    expect(await audit(promised)).toBe(640);
  });
});

describe('a process that is killed', () => {
  it('leaves a ledger that balances and holds all that was promised', async () => {
    const promised: string[] = [];
    let burns = 0;
    for (let lane = 1; lane <= 25; lane += 1) {
      // Killed a different while after a different list, so that it dies in every part of a submit.
      const burner = burn({ lane, lists: 1_000, listLength: 16 }, (lists) => {
        if (lists === 1 + (lane % 4)) setTimeout(() => burner.child.kill('SIGKILL'), (lane * 7) % 13);
      });
      expect(await burner.ended).toBeNull();
      promised.push(...burner.promised);
      burns = await audit(promised);
    }
    expect(promised.length).toBeGreaterThan(25 * 16);
    expect(burns).toBeGreaterThanOrEqual(promised.length);
    expect(burns % 16).toBe(0);
  });
});

describe('processes that open a ledger at the same time', () => {
  it('make it once', async () => {
    directory = temporaryDirectory();
    const burners = [1, 2, 3, 4].map((lane) => burn({ lane, lists: 0, listLength: 0 }));
    expect(await Promise.all(burners.map(({ ended }) => ended))).toEqual([0, 0, 0, 0]);
    const chain = await openLocalChain(chainOptions(directory));
    expect(await chain.blockHeight()).toBe(0n);
    await chain.close();
  });
});
