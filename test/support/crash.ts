/** Runs engines in processes that die, and audits the books of the data directory that they leave behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { describeInstruction } from '../../src/actions/registry.js';
import { decodeTransaction, isSigner, isWritable } from '../../src/chain/transaction/wire.js';
import { type OpenedEngine, openEngine } from '../../src/compose/engine.js';
import { dataFiles, requireLocalConfig } from '../../src/compose/local-config.js';
import { systemClock } from '../../src/values/time.js';
import type { EngineOrder } from './crash-points.js';
import { rawSqlite } from './store.js';

const ROOT = new URL('../../', import.meta.url).pathname;
// Inside node_modules, so that the bundle finds the packages it imports.
const OUTPUT = join(ROOT, 'node_modules', '.cache', `flywheel-crash-${process.pid}`);
const PROGRAM = join(OUTPUT, 'engine-process.mjs');

/** Builds the program; once for all tests of a file. */
export async function buildProgram(): Promise<void> {
  mkdirSync(OUTPUT, { recursive: true });
  await build({
    entryPoints: [join(ROOT, 'test/support/engine-process.ts')],
    outfile: PROGRAM,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['libsql', 'litesvm-*', '@solana/web3.js', '@sqds/multisig'],
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
    logLevel: 'silent',
  });
}

export const removeProgram = (): void => rmSync(OUTPUT, { recursive: true, force: true });

/** What a process said before it ended. */
export interface Ended {
  readonly by: number | NodeJS.Signals | null;
  /** `undefined` when it died before it had an answer. */
  readonly answer?: {
    readonly points: number;
    readonly replayed?: boolean;
    readonly value?: unknown;
    readonly error?: string;
    readonly message?: string;
  };
}

export interface EngineProcess {
  readonly child: ChildProcess;
  /** Resolves when it has opened store and chain. */
  readonly ready: Promise<void>;
  readonly ended: Promise<Ended>;
}

export function startEngine(order: EngineOrder): EngineProcess {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  let announce = (): void => undefined;
  const ready = new Promise<void>((resolve) => {
    announce = resolve;
  });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    announce();
  });
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code, signal) => {
      announce();
      const line = output.split('\n')[1];
      const by = signal ?? code;
      resolve(line === undefined || line === '' ? { by } : { by, answer: JSON.parse(line) });
    });
  });
  return { child, ready, ended };
}

export const runEngine = (order: EngineOrder): Promise<Ended> => startEngine(order).ended;

/** A copy of a data directory, to be spoiled. */
export function copyOf(dataDir: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'flywheel-crash-'));
  cpSync(dataDir, copy, { recursive: true });
  return copy;
}

export const openDirectory = (dataDir: string): Promise<OpenedEngine> =>
  openEngine(dataDir, requireLocalConfig(dataDir), { clock: systemClock });

/** What the two databases of a data directory say, read without any code of the engine. */
export interface Books {
  readonly integrity: readonly unknown[];
  /** Base units of every BurnChecked that stands for itself on the ledger and succeeded, sorted. */
  readonly burns: readonly bigint[];
  readonly transactions: number;
  readonly fees: bigint;
  readonly pending: { readonly burns: number; readonly bundles: number };
}

export function readBooks(dataDir: string): Books {
  const { store, ledger } = dataFiles(dataDir);
  const count = (path: string, from: string): number =>
    Number(rawSqlite(path, `select count(*) as n from ${from}`)[0]?.['n']);
  const landed = rawSqlite(ledger, 'select hex(wire) as wire, error, fee_lamports from transactions');
  const wires = landed
    .filter(({ error }) => error === null)
    .map(({ wire }) => Buffer.from(String(wire), 'hex'));
  return {
    integrity: [store, ledger].flatMap((path) =>
      rawSqlite(path, 'pragma integrity_check').flatMap((row) => Object.values(row)),
    ),
    burns: wires.flatMap(burnsOf).sort((a, b) => Number(a - b)),
    transactions: landed.length,
    fees: landed.reduce((sum, row) => sum + BigInt(String(row['fee_lamports'])), 0n),
    pending: {
      burns: count(store, "burns where status = 'PENDING'"),
      bundles: count(store, "bundles where status = 'PENDING'"),
    },
  };
}

function burnsOf(wire: Uint8Array): readonly bigint[] {
  const { message } = decodeTransaction(wire);
  return message.instructions.flatMap(({ programIndex, accountIndexes, data }) => {
    const accounts = [...accountIndexes].flatMap((index) => {
      const address = message.staticKeys[index];
      return address === undefined
        ? []
        : [{ address, signer: isSigner(message, index), writable: isWritable(message, index) }];
    });
    const program = message.staticKeys[programIndex];
    if (program === undefined) return [];
    const operation = describeInstruction({ program, accounts, data });
    return operation.kind === 'burn' ? [operation.amount] : [];
  });
}
