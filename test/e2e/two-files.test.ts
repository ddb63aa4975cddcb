/** A store and a ledger of different moments are refused, and nothing is written to them. */
import { hash } from 'node:crypto';
import { copyFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { FILES } from '../simulation/audit/tables.js';
import { flywheelHere, letGo } from '../support/flywheel-here.js';
import { sampleOf } from '../support/long.js';
import { emptyDirectory } from '../support/spawn.js';
import { problemOf } from './operator.js';

const RECIPIENT = 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF';

type Name = 'store' | 'ledger';
const NAMES: readonly Name[] = ['store', 'ledger'];

const home = emptyDirectory();
const [template, earlier, other, dataDir] = ['template', 'earlier', 'other', 'data'].map((name) =>
  join(home, name),
) as [string, string, string, string];
const at = (place: string, ...words: string[]) => flywheelHere({ home }, ...words, '--data-dir', place);
/** Copies a data directory in which commands have run. */
async function copyPlace(from: string, to: string): Promise<void> {
  await letGo(home);
  cpSync(from, to, { recursive: true });
}
const burn = (place: string, amount = '1') =>
  at(place, 'burn', '--type', 'WATCH_AD', '--proof', '{}', '--amount', amount);
const fileOf = (place: string, name: Name): string => join(place, FILES[name]);

beforeAll(async () => {
  for (const place of [template, other]) await at(place, 'local', 'init');
  await copyPlace(template, earlier);
  for (let count = 0; count < 3; count += 1) expect((await burn(template)).exit).toBe(0);
  const actions = [
    { action: 'BURN', amount: 4 },
    { action: 'AIRDROP', toAddress: RECIPIENT, amount: 2 },
  ];
  const pipelines = join(home, 'pipelines.json');
  writeFileSync(pipelines, JSON.stringify({ pipelines: [{ type: 'WATCH_AD', payload: {}, actions }] }));
  const run = await at(
    template,
    'batch',
    'run',
    pipelines,
    '--yes',
    '--keypair',
    join(template, 'owner.json'),
  );
  expect(run.exit).toBe(0);
});
beforeEach(async () => {
  await letGo(home);
  rmSync(dataDir, { recursive: true, force: true });
  await copyPlace(template, dataDir);
});

async function put(name: Name, from: string): Promise<void> {
  await letGo(home);
  copyFileSync(fileOf(from, name), fileOf(dataDir, name));
}
const digests = () => NAMES.map((name) => hash('sha256', readFileSync(fileOf(dataDir, name))));

/** Expects a refusal that leaves every file unchanged, and lets go of them. */
async function expectRefused(isWhole = true): Promise<void> {
  const before = isWhole ? digests() : null;
  const { exit, stderr } = await burn(dataDir);
  expect([exit, JSON.parse(stderr)]).toMatchObject([6, { error: 'ERR_STORE_UNAVAILABLE' }]);
  await letGo(home);
  if (before !== null) expect(digests()).toEqual(before);
}

it('are refused when they are of two moments, or of two flywheels', async () => {
  await put('ledger', earlier);
  await expectRefused();
  await put('ledger', other);
  await expectRefused();
  await put('ledger', template);
  expect((await burn(dataDir)).exit).toBe(0);
});

it('are refused when both went on from one moment, each with a history of its own', async () => {
  const [one, another] = [join(home, 'one'), join(home, 'another')];
  for (const place of [one, another]) await copyPlace(earlier, place);
  expect((await burn(one, '2')).exit).toBe(0);
  expect((await burn(another, '3')).exit).toBe(0);
  for (const name of NAMES) {
    await put('store', one);
    await put('ledger', one);
    await put(name, another);
    await expectRefused();
  }
});

it.each(sampleOf(NAMES, 1))(
  'are refused when the %s is missing, empty, cut off or of another program',
  async (name) => {
    const path = fileOf(dataDir, name);
    const whole = readFileSync(path);
    rmSync(path);
    await expectRefused(false);
    writeFileSync(path, '');
    await expectRefused();
    writeFileSync(path, whole.subarray(0, 5_000));
    await expectRefused();
    rmSync(path);
    const foreign = new Database(path);
    foreign.exec('create table notes (text text); pragma user_version = 1');
    foreign.close();
    await expectRefused();
  },
);

it('go on with an older store where no tokens have moved since', async () => {
  const [older, place] = [join(home, 'older.db'), join(home, 'funded')];
  await copyPlace(earlier, place);
  copyFileSync(fileOf(place, 'store'), older);
  expect((await at(place, 'local', 'fund', '--to', 'burn-wallet', '--tokens', '1')).exit).toBe(0);
  await letGo(home);
  copyFileSync(older, fileOf(place, 'store'));
  expect((await burn(place)).exit).toBe(0);
});

it('go on with an older store once what is missing was seen, and accepted', async () => {
  await put('store', earlier);
  const hint = expect.stringContaining(`\`flywheel db accept-gap --local --data-dir ${dataDir}\``);
  expect(problemOf(await burn(dataDir))).toMatchObject({ error: 'ERR_STORE_BEHIND', hint });
  const shown = await at(dataDir, 'db', 'accept-gap');
  expect([shown.exit, shown.stderr]).toEqual([2, expect.stringContaining('4 burns')]);
  expect((await at(dataDir, 'db', 'accept-gap', '--yes', '--expect', '3')).exit).toBe(2);
  expect(problemOf(await burn(dataDir))).toMatchObject({ error: 'ERR_STORE_BEHIND', hint });
  const { exit, stdout } = await at(dataDir, 'db', 'accept-gap', '--yes', '--expect', '4');
  const gap = { burns: 4, transactions: 4, burned: '7', airdropped: '2' };
  expect([exit, JSON.parse(stdout)]).toMatchObject([0, { accepted: true, gap }]);
  expect((await burn(dataDir)).exit).toBe(0);
  const status = JSON.parse((await at(dataDir, 'local', 'status')).stdout);
  expect(status).toMatchObject({ burned: '8', usedToday: { burn: '8', airdrop: '2' } });
  expect(JSON.parse((await at(dataDir, 'audit')).stdout)[0]).toMatchObject({ action: 'gap.accept' });
});
