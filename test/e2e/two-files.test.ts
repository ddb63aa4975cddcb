/** Store and ledger of one data directory: whatever is not one pair of one moment is refused, and nothing is written into it. */
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { dataFiles } from '../../src/compose/local-config.js';
import { emptyDirectory, flywheel } from '../support/spawn.js';

type Name = 'store' | 'ledger';
const NAMES: readonly Name[] = ['store', 'ledger'];
/** Moments of which a copy is kept; both files change between them. */
const MOMENTS = ['first', 'second', 'third'] as const;

const home = emptyDirectory();
const [template, other, dataDir] = ['template', 'other', 'data'].map((name) => join(home, name)) as [
  string,
  string,
  string,
];
const at = (place: string, ...words: string[]) => flywheel({ home }, ...words, '--data-dir', place);

async function makeFlywheel(place: string): Promise<void> {
  await at(place, 'local', 'init');
  for (const moment of MOMENTS) {
    mkdirSync(join(place, moment));
    for (const name of NAMES) copyFileSync(dataFiles(place)[name], join(place, moment, `${name}.db`));
    await at(place, 'burn', '--type', 'WATCH_AD', '--proof', '{}', '--amount', '1');
  }
}

beforeAll(async () => {
  await makeFlywheel(template);
  await makeFlywheel(other);
});
beforeEach(() => {
  rmSync(dataDir, { recursive: true, force: true });
  cpSync(template, dataDir, { recursive: true });
});

const put = (name: Name, from: string): void => copyFileSync(from, dataFiles(dataDir)[name]);
const bytes = (): readonly Buffer[] => NAMES.map((name) => readFileSync(dataFiles(dataDir)[name]));

/** Why the directory is refused; `null` when it is not. What lies there stays as it is. */
async function refusal(isWhole = true): Promise<string | null> {
  const before = isWhole ? bytes() : null;
  const { exit, stderr } = await at(dataDir, 'burn', '--type', 'WATCH_AD', '--proof', '{}', '--amount', '1');
  if (exit === 0) return null;
  expect([exit, JSON.parse(stderr)]).toMatchObject([6, { error: 'ERR_STORE_UNAVAILABLE' }]);
  if (before !== null) expect(bytes()).toEqual(before);
  return JSON.parse(stderr).message;
}

describe('store and ledger', () => {
  const pairs = MOMENTS.flatMap((store) => MOMENTS.map((ledger) => [store, ledger] as const));

  it.each(pairs)('of the %s and the %s moment are taken only where that is one', async (store, ledger) => {
    put('store', join(dataDir, store, 'store.db'));
    put('ledger', join(dataDir, ledger, 'ledger.db'));
    const reason = await refusal();
    if (store === ledger) expect(reason).toBeNull();
    else expect(reason).toContain('is older than');
  });

  it.each(NAMES)('are refused when the %s is missing, empty, cut off or of another program', async (name) => {
    const path = dataFiles(dataDir)[name];
    const whole = readFileSync(path);
    rmSync(path);
    expect(await refusal(false)).toContain('is missing');
    writeFileSync(path, '');
    expect(await refusal()).toContain('is empty');
    writeFileSync(path, whole.subarray(0, 5_000));
    expect(await refusal()).not.toBeNull();
    rmSync(path);
    const foreign = new Database(path);
    foreign.exec('create table notes (text text); pragma user_version = 1');
    foreign.close();
    expect(await refusal()).not.toBeNull();
    writeFileSync(path, whole);
    expect(await refusal()).toBeNull();
  });

  it.each(NAMES)('are refused when the %s is that of another flywheel', async (name) => {
    put(name, dataFiles(other)[name]);
    expect(await refusal()).toMatch(/of different flywheels|of another flywheel/);
  });

  it('go on with an older store once what is missing was seen, and accepted', async () => {
    put('store', join(dataDir, 'first', 'store.db'));
    expect(await refusal()).toContain('is older than');
    const repair = await at(dataDir, 'doctor', '--repair');
    expect(repair.stdout + repair.stderr).toContain('db accept-gap');
    const shown = await at(dataDir, 'db', 'accept-gap');
    const lines = shown.stderr
      .trim()
      .split('\n')
      .map((line) => Object.keys(JSON.parse(line))[0]);
    expect([shown.exit, shown.stderr, lines]).toEqual([
      2,
      expect.stringContaining('3 burns'),
      ['notice', 'error'],
    ]);
    const wrong = await at(dataDir, 'db', 'accept-gap', '--yes', '--expect', '2');
    expect([wrong.exit, wrong.stderr]).toEqual([
      2,
      expect.stringContaining('3 transactions are missing, not 2'),
    ]);
    expect(await refusal()).toContain('is older than');

    const { exit, stdout } = await at(dataDir, 'db', 'accept-gap', '--yes', '--expect', '3');
    expect([exit, JSON.parse(stdout)]).toMatchObject([
      0,
      { accepted: true, gap: { burns: 3, transactions: 3, burned: '3', airdropped: '0', pendingBurns: 0 } },
    ]);
    expect(await refusal()).toBeNull();
    const status = JSON.parse((await at(dataDir, 'local', 'status')).stdout);
    expect(status).toMatchObject({ burned: '4', usedToday: { burn: '4' } });
    expect(JSON.parse((await at(dataDir, 'audit')).stdout)[0]).toMatchObject({ action: 'gap.accept' });
    const again = JSON.parse((await at(dataDir, 'db', 'accept-gap')).stdout);
    expect(again).toEqual({ accepted: false, gap: null });
  });
});
