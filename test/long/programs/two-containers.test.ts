/**
 * Processes on one data directory that cannot see each other, as in two containers, and a process paused past its lease: each
 * operation happens once, and a process that lost its lease writes nothing more.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { balancedBooks } from '../../e2e/books.js';
import { anOperator, ending, type Operator } from '../../e2e/operator.js';
import { FILES, StoreTables } from '../../simulation/audit/tables.js';
import { BIN, type Spawned } from '../../support/spawn.js';

const UNITS = 1_000_000;
const AMOUNTS = Array.from({ length: 300 }, (_, index) => BigInt(index + 1) * 1_000n);
const burns = AMOUNTS.map((amount, order) => ({
  ...{ type: 'WATCH_AD', proof: { order }, burnAmount: Number(amount) / UNITS, persistOnchain: false },
}));

/** A separate PID namespace; needs a system that permits it. */
const APART = ['unshare', '--pid', '--fork', '--mount-proc'];

const start = ({ directory, dataDir }: Operator, apart: readonly string[], words: readonly string[]) => {
  const [program = '', ...rest] = [...apart, process.execPath, BIN, ...words, '--json'];
  const env = { PATH: process.env['PATH'], HOME: directory, FLYWHEEL_DATA_DIR: dataDir };
  return spawn(program, rest, { cwd: directory, env });
};

/** Store and ledger agree, and each amount was burned once. */
async function expectOnce(operator: Operator, ended: readonly Spawned[]): Promise<void> {
  expect(ended.map(({ exit, stderr }) => [exit, exit === 0 ? '' : stderr])).toEqual(ended.map(() => [0, '']));
  const [first, ...others] = ended.map(({ stdout }) => JSON.parse(stdout));
  expect(first.errors).toEqual([]);
  for (const other of others) expect(other).toEqual(first);
  expect(balancedBooks(operator.dataDir).burns(AMOUNTS)).toEqual(AMOUNTS.map(() => 1));
  expect(await operator.happened()).toMatchObject({ burned: '45.15', usedToday: { burn: '45.15' } });
}

it('in two containers burn once, and tell the same result', async () => {
  const operator = await anOperator('embedded');
  const words = ['burn-batch', operator.write('burns.json', burns)];
  const both = [start(operator, APART, words), start(operator, APART, words)].map((child) => ending(child));
  await expectOnce(operator, await Promise.all(both));
});

async function untilBegun({ dataDir }: Operator, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    const store = new StoreTables(join(dataDir, FILES.store));
    const isBegun = store.used('burn', new Date().toISOString().slice(0, 10)) > 0n;
    store.close();
    if (isBegun) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it('one that stood still for longer than its lease writes nothing for what another has done meanwhile', async () => {
  const operator = await anOperator('embedded');
  const words = ['burn-batch', operator.write('burns.json', burns)];
  const child = start(operator, [], words);
  const stalled = ending(child);
  await untilBegun(operator, child);
  child.kill('SIGSTOP');
  const other = await ending(start(operator, APART, words));
  child.kill('SIGCONT');
  await expectOnce(operator, [await stalled, other]);
});
