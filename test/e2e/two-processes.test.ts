/** Several processes on one data directory at the same time: they take turns, and the audit finds no error. */
import { beforeAll, expect, it } from 'vitest';
import { pipelinesOf } from '../support/deeds.js';
import { anOperator, makeTemplate, type Operator, type Template } from '../support/operator.js';
import type { Spawned } from '../support/spawn.js';
import { balancedBooks } from './books.js';

/** More than fit into one intent, and than two processes finish within a blockhash's lifetime. */
const AMOUNTS = Array.from({ length: 200 }, (_, index) => BigInt(index + 1) * 1_000n);
const UNITS = 1_000_000;
const burns = (name: string) =>
  AMOUNTS.map((amount, order) => ({
    ...{
      type: 'WATCH_AD',
      proof: { name, order },
      burnAmount: Number(amount) / UNITS,
      persistOnchain: false,
    },
  }));

let template: Template;
let operator: Operator;
beforeAll(async () => {
  template = await makeTemplate();
  operator = await anOperator('embedded', template);
});

const all = (...commands: readonly (readonly string[])[]): Promise<readonly Spawned[]> =>
  Promise.all(commands.map((words) => operator.runWith({}, ...words, '--json')));
const exits = (ended: readonly Spawned[]): readonly (readonly [number | null, string])[] =>
  ended.map(({ exit, stderr }) => [exit, exit === 0 ? '' : stderr]);
const DONE = [0, ''] as const;

it('that burn do all that each was asked for, and once what two were', async () => {
  const files = ['one', 'two'].map((name) => operator.write(`${name}.json`, burns(name)));
  const [one = '', two = ''] = files;
  const ended = await all(['burn-batch', one], ['burn-batch', two], ['burn-batch', one]);
  expect(exits(ended)).toEqual([DONE, DONE, DONE]);
  const values = ended.map(({ stdout }) => JSON.parse(stdout));
  expect(values.map(({ success, errors }) => [success.length, errors])).toEqual(values.map(() => [200, []]));
  expect(values[2]).toEqual(values[0]);
  const hashes = values.slice(0, 2).flatMap(({ success }) => success.map(({ txHash }: never) => txHash));
  expect(new Set(hashes).size).toBe(400);
  const books = balancedBooks(operator.dataDir);
  expect(books.burns(AMOUNTS)).toEqual(AMOUNTS.map(() => 2));
  expect(books.lamports).toBe(template.lamports);
  expect(await operator.happened()).toMatchObject({ burned: '40.2', usedToday: { burn: '40.2' } });
});

it('that set up a batch each get an index each, and each is executed once, whoever executes it', async () => {
  const before = Number((await operator.happened()).burned);
  const words = ['a', 'b'].map((name) => ['batch', 'init', operator.write(name, pipelinesOf(name))]);
  const inits = await all(...words);
  expect(exits(inits)).toEqual([DONE, DONE]);
  const batches = inits.map(({ stdout }) => JSON.parse(stdout).batch);
  expect(batches.map(({ batchIndex }) => batchIndex).sort()).toEqual(['1', '2']);
  const execute = ({ id }: { id: string }, file: string) => [
    ...['batch', 'execute', id, '--approval', id, '--keypair', operator.owner, '--expect', file, '--yes'],
  ];
  const [a, b] = batches;
  expect(exits(await all(execute(a, 'a'), execute(b, 'b'), execute(a, 'a')))).toEqual([DONE, DONE, DONE]);
  expect(await operator.happened()).toMatchObject({
    ...{ burned: String(Math.round((before + 6) * 10) / 10), batches: ['EXECUTED', 'EXECUTED'] },
  });
  expect(balancedBooks(operator.dataDir).lamports).toBe(template.lamports);
});
