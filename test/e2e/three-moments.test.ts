/** Store, ledger and journal of different moments: no file runs twice. */
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { FILES } from '../simulation/audit/tables.js';
import { flywheelHere, letGo } from '../support/flywheel-here.js';
import { sampleOf } from '../support/long.js';
import { emptyDirectory } from '../support/spawn.js';

const MOMENTS = ['set up', 'burned', 'executed'] as const;
type Moment = (typeof MOMENTS)[number];

const home = emptyDirectory();
const dataDir = join(home, 'data');
const [burns, pipelines, changed] = ['burns.json', 'pipelines.json', 'changed.json'].map((name) =>
  join(home, name),
) as [string, string, string];
const placeOf = (moment: Moment): string => join(home, moment);
const at = (...words: readonly string[]) => flywheelHere({ home }, ...words, '--data-dir', dataDir);
const burnAll = () => at('burn-batch', burns);
const runFile = (file: string, ...more: readonly string[]) =>
  at('batch', 'run', file, '--yes', '--keypair', join(dataDir, 'owner.json'), ...more);
const runAll = () => runFile(pipelines);
const burned = async (): Promise<string> => {
  const { exit, stdout, stderr } = await at('local', 'status');
  expect([exit, stderr]).toEqual([0, '']);
  return JSON.parse(stdout).burned;
};

beforeAll(async () => {
  const burn = { type: 'WATCH_AD', proof: {}, burnAmount: 1, persistOnchain: false };
  writeFileSync(burns, JSON.stringify([1, 2].map((burnAmount) => ({ ...burn, burnAmount }))));
  const actions = [{ action: 'BURN', amount: 4 }];
  writeFileSync(pipelines, JSON.stringify({ pipelines: [{ type: 'WATCH_AD', payload: {}, actions }] }));
  const keep = async (moment: Moment): Promise<void> => {
    await letGo(home);
    cpSync(dataDir, placeOf(moment), { recursive: true });
  };
  expect((await at('local', 'init')).exit).toBe(0);
  await keep('set up');
  expect((await burnAll()).exit).toBe(0);
  await keep('burned');
  expect((await runAll()).exit).toBe(0);
  await keep('executed');
});

/** Builds a data directory from files of these moments. @default `executed` */
async function compose(moments: Partial<Readonly<Record<keyof typeof FILES, Moment>>>): Promise<void> {
  await letGo(home);
  rmSync(dataDir, { recursive: true, force: true });
  cpSync(placeOf('executed'), dataDir, { recursive: true });
  for (const [name, file] of Object.entries(FILES))
    for (const end of ['', '-wal', '-shm']) {
      const source = join(placeOf(moments[name as keyof typeof FILES] ?? 'executed'), `${file}${end}`);
      rmSync(join(dataDir, `${file}${end}`), { force: true });
      if (existsSync(source)) cpSync(source, join(dataDir, `${file}${end}`));
    }
}

const pairs = MOMENTS.flatMap((files) => MOMENTS.map((journal) => [files, journal] as const));

it.each(sampleOf(pairs, 2))(
  'does all work once with store and ledger "%s", journal "%s"',
  async (files, journal) => {
    await compose({ store: files, ledger: files, journal });
    for (let time = 0; time < 2; time += 1) {
      await burnAll();
      await runAll();
    }
    // A journal newer than both files knows of work that they have lost, and repeats it at most once.
    const isNewer = MOMENTS.indexOf(journal) > MOMENTS.indexOf(files);
    if (isNewer) expect(['0', '3', '4', '7']).toContain(await burned());
    else expect(await burned()).toBe('7');
  },
);

it.each(['set up', 'burned'] as const)(
  'pays no proof twice with a store "%s" behind its ledger and its journal',
  async (store) => {
    await compose({ store });
    const gap = store === 'burned' ? '1' : '3';
    expect((await at('db', 'accept-gap', '--yes', '--expect', gap)).exit).toBe(0);
    const [paid] = JSON.parse(readFileSync(pipelines, 'utf8')).pipelines;
    const added = { ...paid, payload: { added: 1 }, actions: [{ action: 'BURN', amount: 2 }] };
    writeFileSync(changed, JSON.stringify([paid, added]));
    for (const more of [[], ['--rest'], []])
      for (const file of [pipelines, changed]) await runFile(file, ...more);
    // What was added is paid or refused.
    expect(['7', '9']).toContain(await burned());
  },
);
