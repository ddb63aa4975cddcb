/**
 * A journal that is lost or older than its service, and a service that is older than the journal: nothing that has landed is sent
 * again without a word, and nothing is told as done that is on no ledger.
 */
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, it } from 'vitest';
import {
  anOperator,
  type Mode,
  makeTemplate,
  type Operator,
  problemOf,
  type Template,
} from '../support/operator.js';

const RECIPIENT = 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF';
const JOURNAL = /^journal\.db/;
const SERVICE = /^(?:store|ledger)\.db/;

let template: Template;
let operator: Operator;
beforeAll(async () => {
  template = await makeTemplate('--vault-tokens', '1000');
});
afterEach(() => operator.leave());

const burns = (from: number, to: number, amount = 1) =>
  Array.from({ length: to - from }, (_, at) => ({
    ...{ type: 'WATCH_AD', proof: { order: from + at }, burnAmount: amount, persistOnchain: false },
  }));
const pipelines = (from: number, to: number, amount = 1) => ({
  pipelines: burns(from, to).map(({ type, proof }) => ({
    ...{ type, payload: JSON.stringify(proof) },
    actions: [
      { action: 'BURN', amount },
      { action: 'AIRDROP', toAddress: RECIPIENT, amount },
    ],
  })),
});

const journalHome = ({ mode, directory, dataDir }: Operator): string =>
  mode === 'embedded' ? dataDir : join(directory, '.config/flywheel');
const files = (directory: string, which: RegExp): readonly string[] =>
  readdirSync(directory).filter((name) => which.test(name));

/** Copies files of a directory aside. */
function keep(directory: string, which: RegExp, aside: string): void {
  mkdirSync(aside, { recursive: true });
  for (const name of files(directory, which)) cpSync(join(directory, name), join(aside, name));
}
function restore(directory: string, which: RegExp, aside: string | null): void {
  for (const name of files(directory, which)) rmSync(join(directory, name));
  if (aside !== null) cpSync(aside, directory, { recursive: true });
}

const burned = async (): Promise<number> => Number((await operator.happened()).burned);
const burnFile = (name: string, ...more: readonly string[]) =>
  operator.run('burn-batch', name, '--yes', '--json', ...more);
const runFile = (name: string, ...more: readonly string[]) =>
  operator.run('batch', 'run', name, '--keypair', operator.owner, '--yes', '--json', ...more);

it.each<Mode>(['embedded', 'remote'])('a lost journal burns no edited file again (%s)', async (mode) => {
  operator = await anOperator(mode, template);
  expect((await burnFile(operator.write('a.json', burns(0, 3)))).exit).toBe(0);
  restore(journalHome(operator), JOURNAL, null);
  // The file itself is known by its key, whoever lost the journal.
  expect((await burnFile('a.json')).exit).toBe(0);
  expect(await burned()).toBe(3);
  restore(journalHome(operator), JOURNAL, null);
  const edited = await burnFile(operator.write('b.json', burns(0, 4)));
  expect([edited.exit, problemOf(edited).message]).toEqual([2, expect.stringContaining('3 of 4')]);
  expect(await burned()).toBe(3);
  // With another amount an element is still about the same.
  const corrected = await burnFile(operator.write('c.json', [...burns(0, 1, 2), ...burns(4, 5)]), '--rest');
  expect(corrected.exit).toBe(2);
  expect(await burned()).toBe(3);
  expect((await burnFile('b.json', '--dry-run')).exit).toBe(2);
  expect((await burnFile('b.json', '--rest')).exit).toBe(0);
  expect(await burned()).toBe(4);
  expect((await burnFile(operator.write('d.json', burns(0, 5)), '--again')).exit).toBe(0);
  expect(await burned()).toBe(9);
});

it('a journal older than the service burns no edited file again', async () => {
  operator = await anOperator('embedded', template);
  expect((await burnFile(operator.write('a.json', burns(0, 3)))).exit).toBe(0);
  keep(operator.dataDir, JOURNAL, join(operator.directory, 'older'));
  expect((await burnFile(operator.write('b.json', burns(3, 6)))).exit).toBe(0);
  restore(operator.dataDir, JOURNAL, join(operator.directory, 'older'));
  const all = operator.write('c.json', burns(0, 7));
  expect((await burnFile(all)).exit).toBe(2);
  expect((await burnFile(all, '--rest')).exit).toBe(0);
  expect(await burned()).toBe(7);
});

it('of three equal elements of which one has landed, two are left', async () => {
  operator = await anOperator('embedded', template);
  expect((await burnFile(operator.write('a.json', burns(0, 1)))).exit).toBe(0);
  restore(operator.dataDir, JOURNAL, null);
  const three = operator.write('b.json', [...burns(0, 1), ...burns(0, 1), ...burns(0, 1)]);
  expect((await burnFile(three, '--rest')).exit).toBe(0);
  expect(await burned()).toBe(3);
});

it.each<Mode>(['embedded', 'remote'])('a lost journal runs no edited file again (%s)', async (mode) => {
  operator = await anOperator(mode, template);
  expect((await runFile(operator.write('a.json', pipelines(0, 3)))).exit).toBe(0);
  restore(journalHome(operator), JOURNAL, null);
  expect((await runFile('a.json')).exit).toBe(0);
  expect(await burned()).toBe(3);
  restore(journalHome(operator), JOURNAL, null);
  expect((await runFile(operator.write('b.json', pipelines(0, 4)))).exit).toBe(2);
  expect((await runFile(operator.write('c.json', pipelines(2, 4, 5)), '--rest')).exit).toBe(2);
  expect(await burned()).toBe(3);
  expect((await runFile('b.json', '--rest')).exit).toBe(0);
  expect(await burned()).toBe(4);
});

it('a lost journal sets up nothing that waits in another batch', async () => {
  operator = await anOperator('embedded', template);
  expect(
    (await operator.run('batch', 'init', operator.write('a.json', pipelines(0, 2)), '--json')).exit,
  ).toBe(0);
  restore(operator.dataDir, JOURNAL, null);
  const edited = operator.write('b.json', pipelines(1, 3));
  for (const more of [[], ['--rest']]) expect((await runFile(edited, ...more)).exit).toBe(2);
  expect(await operator.happened()).toMatchObject({ burned: '0', batches: ['FINALIZED'] });
});

it('what a service of an earlier state does not know is not told as done', async () => {
  operator = await anOperator('embedded', template);
  expect((await burnFile(operator.write('a.json', burns(0, 1)))).exit).toBe(0);
  keep(operator.dataDir, SERVICE, join(operator.directory, 'earlier'));
  const once = ['burn', '--once', '--type', 'WATCH_AD', '--proof', '{"once":1}', '--amount', '1', '--json'];
  expect((await burnFile(operator.write('b.json', burns(1, 4)))).exit).toBe(0);
  expect((await operator.run(...once)).exit).toBe(0);
  restore(operator.dataDir, SERVICE, join(operator.directory, 'earlier'));
  const told = await burnFile('b.json');
  expect([told.exit, told.stdout]).toEqual([7, '']);
  expect((await operator.run(...once)).exit).toBe(7);
  // Nor is it left out of another file without a word.
  expect((await burnFile(operator.write('c.json', burns(1, 5)), '--rest')).exit).toBe(7);
  expect(await burned()).toBe(1);
  expect((await burnFile('b.json', '--again')).exit).toBe(0);
  expect((await operator.run(...once, '--again')).exit).toBe(0);
  expect(await burned()).toBe(5);
});
